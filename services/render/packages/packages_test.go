// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
)

const kpt = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

// read loads, validates and reads a package like a render.
func read(tree *packages.Tree, dir string) (*packages.Package, error) {
	p, err := tree.Load(dir)
	if err == nil {
		err = tree.Validate(p)
	}
	if err == nil {
		err = tree.ReadResources(p)
	}
	return p, err
}

func cm(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func memory(t *testing.T, files map[string]string) *packages.Memory {
	t.Helper()
	m, err := packages.NewMemory(files)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func open(t *testing.T, source packages.Source) (*packages.Tree, *packages.Package) {
	t.Helper()
	tree, err := packages.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	p, err := read(tree, ".")
	if err != nil {
		t.Fatal(err)
	}
	return tree, p
}

// places lists the resources of a package as "path#index kind/name".
func places(resources []*yaml.RNode) []string {
	list := []string{}
	for _, r := range resources {
		list = append(list, resource.Path(r)+"#"+resource.Index(r)+" "+resource.Kind(r)+"/"+resource.Name(r))
	}
	return list
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for p, content := range files {
		file := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var tree = map[string]string{
	"Kptfile":             kpt,
	".hid/h.yaml":         cm("hidden"),
	"a.yaml":              cm("a0") + "---\n# only a comment\n---\n" + cm("a1"),
	"a/z.yml":             cm("az"),
	"dir.yaml/x.yaml":     cm("in-dir"),
	"j.json":              `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}`,
	"README.md":           "# text",
	"upper.YAML":          cm("upper"),
	"empty.yaml":          "# nothing\n",
	".git/refs/main.yaml": "0123456789\n",
	"ignored.yaml":        cm("ignored"),
	"skip/deep/s.yaml":    cm("skipped"),
	".krmignore":          "ignored.yaml\nskip/\n!\n",
	"sub/Kptfile":         kpt,
	"sub/s.yaml":          cm("s"),
	"sub/ignored.yaml":    cm("not-ignored"),
	"sub/subsub/Kptfile":  kpt,
	"mid/sub/Kptfile":     kpt,
	"mid/m.yaml":          cm("m"),
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, tree)
	for name, source := range map[string]packages.Source{"memory": memory(t, tree), "directory": openDir(t, dir)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, p := open(t, source)
			want := []string{
				".hid/h.yaml#0 ConfigMap/hidden", "Kptfile#0 Kptfile/app", "a/z.yml#0 ConfigMap/az", "a.yaml#0 ConfigMap/a0",
				"a.yaml#1 ConfigMap/a1", "dir.yaml/x.yaml#0 ConfigMap/in-dir", "j.json#0 ConfigMap/j", "mid/m.yaml#0 ConfigMap/m",
			}
			if diff := cmp.Diff(want, places(p.Resources)); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"mid/sub", "sub"}, p.Subpackages); diff != "" {
				t.Errorf("subpackages (-want +got):\n%s", diff)
			}
			sub, err := read(got, "sub")
			if err != nil {
				t.Fatal(err)
			}
			want = []string{"Kptfile#0 Kptfile/app", "ignored.yaml#0 ConfigMap/not-ignored", "s.yaml#0 ConfigMap/s"}
			if diff := cmp.Diff(want, places(sub.Resources)); diff != "" {
				t.Errorf("resources of sub (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"sub/subsub"}, sub.Subpackages); diff != "" {
				t.Errorf("subpackages of sub (-want +got):\n%s", diff)
			}
			if want := strings.TrimSuffix(source.Location(), "/") + "/sub"; sub.Location != want ||
				resource.Annotation(sub.Resources[0], resource.PackageAnnotation) != want {
				t.Errorf("location of sub is %s, want %s", sub.Location, want)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	pipeline := kpt + "pipeline:\n  mutators:\n  - image: a\n    configPath: fc.yaml\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no Kptfile":            {map[string]string{"a.yaml": cm("a")}, `error reading Kptfile at "/": no Kptfile in this directory`},
		"bad Kptfile":           {map[string]string{"Kptfile": kpt + "x: y\n"}, "field x not found"},
		"not YAML":              {map[string]string{"Kptfile": kpt, "d/a.yaml": "a: [\n"}, "/d/a.yaml: MalformedYAMLError: yaml: "},
		"separator with text":   {map[string]string{"Kptfile": kpt, "a.yaml": "a: b\n--- c: d\n"}, "/a.yaml: invalid document separator: --- c: d"},
		"scalar":                {map[string]string{"Kptfile": kpt, "a.yaml": "text\n"}, "/a.yaml: "},
		"text after the end":    {map[string]string{"Kptfile": kpt, "a.yaml": "a: b\n... # end\n\n c: d\n"}, "/a.yaml: there is text after a document end marker"},
		"endless anchor":        {map[string]string{"Kptfile": kpt, "a.yaml": cm("a") + "a: &x [b, {c: *x}]\n"}, "/a.yaml: document 0 has an anchor that contains itself"},
		"missing configuration": {map[string]string{"Kptfile": pipeline}, `open /fc.yaml: no such file or directory`},
		"empty configuration":   {map[string]string{"Kptfile": pipeline, "fc.yaml": "# c\n"}, `functionConfig "fc.yaml" must contain one config, got none`},
		"two configurations":    {map[string]string{"Kptfile": pipeline, "fc.yaml": cm("a") + "---\n" + cm("b")}, "must not contain more than one config, got 2"},
		"bad configuration":     {map[string]string{"Kptfile": pipeline, "fc.yaml": "kind: A\n"}, "functionConfig \"fc.yaml\": resource must have `apiVersion`"},
		"broken configuration":  {map[string]string{"Kptfile": pipeline, "fc.yaml": "a: [\n"}, `failed to read functionConfig "fc.yaml": MalformedYAMLError`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := packages.Open(memory(t, tc.files))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = read(tree, "."); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
	if tree, err := packages.Open(memory(t, nil)); err != nil {
		t.Error(err)
	} else if _, err := read(tree, "."); !errors.Is(err, kptfile.ErrMissing) {
		t.Errorf("read() of an empty tree = %v, want ErrMissing", err)
	}
}

func TestNewMemoryErrors(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"outside": {"a/../../b": ""}, "root": {"/": ""}, "empty": {"": ""}, "twice": {"/a": "", "a": ""}, "file as directory": {"a": "", "a/b": ""},
	} {
		if _, err := packages.NewMemory(files); err == nil {
			t.Errorf("%s: NewMemory() = nil, want an error", name)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files")

// The golden files contain kpt's output: see testdata/roundtrip/README.md.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	if *update {
		writeFiles(t, "testdata/roundtrip/out", printedFiles(t, "testdata/roundtrip/in"))
	}
	want := readFiles(t, "testdata/roundtrip/out")
	for _, from := range []string{"in", "out"} {
		dir := filepath.Join("testdata/roundtrip", from)
		if diff := cmp.Diff(want, printedFiles(t, dir)); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", from, diff)
		}
		tree, p := open(t, openDir(t, dir))
		out, err := tree.Output(p.Resources, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Changes) > 0 {
			t.Errorf("Output() of unmodified resources changes %d files of %s, the first is %s", len(out.Changes), from, out.Changes[0].Path)
		}
	}
}

// printedFiles prints all resources of a package from scratch, without splicing.
func printedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	_, p := open(t, openDir(t, dir))
	byFile := map[string][]*yaml.RNode{}
	for _, r := range p.Resources {
		byFile[resource.Path(r)] = append(byFile[resource.Path(r)], r)
	}
	files := map[string]string{}
	for file, resources := range byFile {
		text, err := packages.PrintFile(resources)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = string(text)
	}
	return files
}
