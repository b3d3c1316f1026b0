// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	const want = `{
  "buildDefinition": {
    "buildType": "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1",
    "externalParameters": {
      "workflow": {
        "path": ".github/workflows/release.yaml",
        "ref": "refs/tags/v0.1.0",
        "repository": "https://github.com/krmfn/krmfn"
      }
    },
    "resolvedDependencies": [
      {
        "uri": "git+https://github.com/krmfn/krmfn@refs/tags/v0.1.0",
        "digest": {
          "gitCommit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        }
      }
    ]
  },
  "runDetails": {
    "builder": {
      "id": "https://github.com/krmfn/krmfn/.github/workflows/release.yaml@refs/tags/v0.1.0"
    },
    "metadata": {
      "invocationId": "https://github.com/krmfn/krmfn/actions/runs/7/attempts/1"
    }
  }
}
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("provenance (-want +got):\n%s", diff)
	}
}

func TestTagsOfModules(t *testing.T) {
	t.Parallel()

	root := t.TempDir()
	content := "chart: v0.2.0\nimages: {a: v0.2.0}\nmodules: {b: v0.2.0, c: v0.1.0, d: v0.2.0}\ngo: 1.26.0\n"
	if err := os.WriteFile(filepath.Join(root, "versions.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{"": "b/v0.2.0\nd/v0.2.0\n", "c/v0.1.0": "c/v0.1.0\n", "a/v0.2.0": ""} {
		var out strings.Builder
		if err := run(t.Context(), []string{"tags", "--root", root, "--tag", tag}, os.Getenv, &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("tags of release %q (-want +got):\n%s", tag, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		args []string
		want string
	}{
		"no command":         {nil, "no command"},
		"unknown command":    {[]string{"make"}, `unknown command "make"`},
		"outside GitHub":     {[]string{"provenance"}, "GITHUB_SERVER_URL is not set"},
		"no module":          {[]string{"require", "--root", "../../../..", "nowhere"}, "nowhere/go.mod"},
		"no repository":      {[]string{"publish", "--root", "nowhere"}, "nowhere/versions.yaml"},
		"nothing to publish": {[]string{"publish", "--root", "../../../..", "--from", "nowhere"}, "make release-dry-run"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := run(t.Context(), test.args, func(string) string { return "" }, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("run(%v) error = %v, want %q", test.args, err, test.want)
			}
		})
	}
}
