// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var github = map[string]string{
	"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "krmfn/krmfn", "GITHUB_REF": "refs/tags/v0.1.0",
	"GITHUB_SHA": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
	"GITHUB_WORKFLOW_REF": "krmfn/krmfn/.github/workflows/release.yaml@refs/tags/v0.1.0",
}

func TestProvenanceNamesCommitAndWorkflow(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "provenance.json")
	err := run(t.Context(), []string{"provenance", "--out", file}, func(name string) string { return github[name] }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got predicate
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := predicate{
		BuildDefinition: definition{
			BuildType: "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1",
			ExternalParameters: parameters{Workflow: workflow{
				Ref: "refs/tags/v0.1.0", Repository: "https://github.com/krmfn/krmfn", Path: ".github/workflows/release.yaml",
			}},
			ResolvedDependencies: []resource{{
				URI:    "git+https://github.com/krmfn/krmfn@refs/tags/v0.1.0",
				Digest: map[string]string{"gitCommit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
			}},
		},
		RunDetails: runDetails{
			Builder:  builder{ID: "https://github.com/krmfn/krmfn/.github/workflows/release.yaml@refs/tags/v0.1.0"},
			Metadata: metadata{InvocationID: "https://github.com/krmfn/krmfn/actions/runs/7/attempts/1"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		args []string
		want string
	}{
		"no command":         {nil, "no command"},
		"unknown command":    {[]string{"make"}, `"make" is no command`},
		"no job of GitHub":   {[]string{"provenance"}, "GITHUB_SERVER_URL is not set"},
		"no repository":      {[]string{"publish", "--root", "nowhere"}, "nowhere/versions.yaml"},
		"nothing to publish": {[]string{"publish", "--root", "../../../..", "--from", "nowhere"}, "make release-dry-run"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := run(t.Context(), test.args, func(string) string { return "" }, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}
