// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package generatekptpkgdocs

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

const bucket = `- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: bucket, annotations: {blueprints.cloud.google.com/title: Bucket blueprint, config.kubernetes.io/path: Kptfile}}
  info: {description: A Google Cloud Storage bucket}
  pipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: setters, annotations: {config.kubernetes.io/local-config: "true", config.kubernetes.io/path: setters.yaml}}
  data: {name: blueprints-project-bucket}
- apiVersion: storage.cnrm.cloud.google.com/v1beta1
  kind: StorageBucket
  metadata:
    name: blueprints-project-bucket # kpt-set: ${name}
    namespace: n
    annotations: {config.kubernetes.io/path: bucket.yaml}
- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: bar, annotations: {config.kubernetes.io/path: bar/Kptfile}}}
- {apiVersion: v1, kind: Service, metadata: {name: s, annotations: {config.kubernetes.io/path: bar/s.yaml}}}
`

const readme = `<!-- BEGINNING OF PRE-COMMIT-BLUEPRINT DOCS HOOK:TITLE -->
# Bucket blueprint

<!-- END OF PRE-COMMIT-BLUEPRINT DOCS HOOK:TITLE -->
mine
<!-- BEGINNING OF PRE-COMMIT-BLUEPRINT DOCS HOOK:BODY -->
A Google Cloud Storage bucket

## Setters

| Name | Value                     | Type | Count |
|------|---------------------------|------|-------|
| name | blueprints-project-bucket | str  | 1     |

## Sub-packages

- [bar](bar)

## Resources

| File        | APIVersion                            | Kind          | Name                      | Namespace |
|-------------|---------------------------------------|---------------|---------------------------|-----------|
| bar/s.yaml  | v1                                    | Service       | s                         |           |
| bucket.yaml | storage.cnrm.cloud.google.com/v1beta1 | StorageBucket | blueprints-project-bucket | n         |

## Resource References

- Service
- [StorageBucket](https://cloud.google.com/config-connector/docs/reference/resource-docs/storage/storagebucket)

## Usage

1.  Clone the package:
    ` + "```shell" + `
    kpt pkg get https://example.com/repo.git/bucket@${VERSION}
    ` + "```" + `
    Replace`

func run(t *testing.T, items, config string, environ ...string) (string, error) {
	t.Helper()
	ctx := function.WithProgram(t.Context(), function.Program{Stderr: io.Discard, Environ: environ})
	out, err := function.Run(ctx, Function, []byte(functiontest.List(items, config)))
	return string(out), err
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "README.md")
	if err := os.WriteFile(file, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {repo-path: https://example.com/repo.git/bucket}\n"
	var last string
	for range 2 {
		out, err := run(t, bucket, config, directoryVariable+"="+dir)
		if err != nil || !strings.Contains(out, "items:\n"+bucket) {
			t.Fatalf("error = %v; output:\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(readme, string(text[:min(len(text), len(readme))])); diff != "" {
			t.Errorf("README (-want +got):\n%s", diff)
		}
		if last != "" && last != string(text) {
			t.Errorf("README after the second run =\n%s", text)
		}
		last = string(text)
	}
	if !strings.Contains(last, "\n1.  Edit the function config file(s):\n    - setters.yaml\n\n1.  Execute") ||
		!strings.HasSuffix(last, "\n<!-- END OF PRE-COMMIT-BLUEPRINT DOCS HOOK:BODY -->\n") {
		t.Errorf("end of the README =\n%s", last)
	}
}

func TestGenerateFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ items, path, dir, want string }{
		"no Kptfile":   {items: "- {kind: A}\n", dir: dir, want: "unable to find Kptfile"},
		"no directory": {items: bucket, want: "no README can be written: set GENERATE_KPT_PKG_DOCS_DIR to the directory that has it"},
		"outside":      {items: bucket, dir: dir, path: "/tmp/out/README.md", want: "path escapes from parent"},
		"missing":      {items: bucket, dir: dir, path: "none/README.md", want: "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, c.items, "data: {readme-path: '"+c.path+"'}", directoryVariable+"="+c.dir)
			if functiontest.ErrorText(err) != functiontest.Failed || !strings.Contains(out, "failed to generate documentation: ") || !strings.Contains(out, c.want) {
				t.Errorf("error = %v; output:\n%s", err, out)
			}
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("files after a failure = %v, %v, want none", entries, err)
	}
}
