// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/services/flags"
)

var update = flag.Bool("update", false, "write the reference of flags anew")

const reference = "../../../docs/wrapper-server.md"

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(options).flags(), "go -C wrapper-server test ./internal/server -run TestReference -update",
		"The function's command stands behind `--`: `wrapper-server [flags] -- ENTRYPOINT [ARG...]`. Called as `cp` or as\n"+
			"`grpc-health-probe`, the binary is `cp -a SOURCE... TARGET` or the probe (`-addr`, `-service`, `-connect-timeout`,\n"+
			"`-rpc-timeout`).", nil)
	if *update {
		if err := os.WriteFile(reference, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page, string(got)); diff != "" {
		t.Errorf("%s is not up to date, see its third line (-want +got):\n%s", reference, diff)
	}
}
