// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// heavy matches libraries of functions and of cloud providers. Programs may link them only if they import functions or cloud
// credentials.
var heavy = regexp.MustCompile(`^(github\.com/krmfn/krmfn/functions|cel\.dev|github\.com/(google/cel-go|open-policy-agent|yannh/kubeconform|` +
	`santhosh-tekuri/jsonschema|qri-io|aws|awslabs|Azure|chrismellard)|go\.starlark\.net|helm\.sh|cloud\.google\.com/go)\b`)

func TestLinksNoFunctions(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.Lines(string(out)) {
		if heavy.MatchString(dep) {
			t.Errorf("rendering links %s", dep)
		}
	}
}

// The go command downloads the direct requirements of a module for all programs that import it.
func TestRequiresNoFunctions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if module := strings.TrimSpace(line); heavy.MatchString(module) && !strings.HasSuffix(module, "// indirect") {
			t.Errorf("the root go.mod requires %s", module)
		}
	}
}
