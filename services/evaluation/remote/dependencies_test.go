// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// unwanted matches what a client of a function runner does not need: kyaml, the functions SDK, Kubernetes, and code that starts processes.
var unwanted = regexp.MustCompile(`^(sigs\.k8s\.io|k8s\.io|github\.com/kptdev|github\.com/krmfn/krmfn/internal/(process|yamlprint))\b`)

func TestLinksNoSDK(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		if unwanted.MatchString(dep) {
			t.Errorf("a client links %s", dep)
		}
	}
}
