// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/internal/process/programtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	programtest.Write(t, file, "#!/bin/sh\n"+text)
	return file
}

func TestStartWith(t *testing.T) {
	t.Parallel()
	program := script(t, `trap 'kill $!; exit 0' TERM
echo "noise" >&2
echo "{\"msg\":\"serving\",\"address\":\"[::]:$TEST_PORT\"}" >&2
sleep 1000 & wait
`)
	p, err := server.StartWith(t.Context(), []string{"TEST_PORT=77"}, program, filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Addr != "127.0.0.1:77" {
		t.Errorf("Addr = %s, want 127.0.0.1:77", p.Addr)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStartFailsIfServerExits(t *testing.T) {
	t.Parallel()
	_, err := server.Start(t.Context(), script(t, "echo the reason >&2; exit 3\n"), filepath.Join(t.TempDir(), "log"))
	if err == nil || !strings.Contains(err.Error(), "the reason") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Start() = %v, want exit status 3 and the program's output", err)
	}
}
