// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	// heavy are the libraries of functions, and of clouds, whose keychains are for builds that ask for them by a tag. CEL is
	// linked by protovalidate, which validates requests with it.
	heavy = regexp.MustCompile(`^(github\.com/krmfn/krmfn/functions|cel\.dev|github\.com/(google/cel-go|open-policy-agent|yannh/kubeconform|` +
		`santhosh-tekuri/jsonschema|qri-io|aws|awslabs)|go\.starlark\.net|helm\.sh|cloud\.google\.com/go)\b`)
	validationRules = regexp.MustCompile(`^(buf\.build/go/protovalidate|cel\.dev|github\.com/google/cel-go)\b`)
)

// The curated functions are programs beside the function runner.
func TestLinksNoFunctionsOrClouds(t *testing.T) {
	t.Parallel()
	const imports = "{{$p := .ImportPath}}{{range .Imports}}{{$p}} {{.}}\n{{end}}"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", imports, ".")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		importer, imported, _ := strings.Cut(strings.TrimSpace(line), " ")
		if heavy.MatchString(imported) && (!validationRules.MatchString(importer) || !validationRules.MatchString(imported)) {
			t.Errorf("%s imports %s", importer, imported)
		}
	}
}
