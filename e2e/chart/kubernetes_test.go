// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

// The schemas of the kinds that the chart creates, of the last three minor versions of Kubernetes.
//
//go:generate env GOWORK=off go run -C ../../tools ./cmd/kube-schemas -version v1.34.4 -sum h1:Yy6R4QB8C9kJPp25GFqEvX5XQwY5qzKeqD0Xx6oAcmk= -out ../e2e/chart/testdata/kubernetes/1.34.tsv
//go:generate env GOWORK=off go run -C ../../tools ./cmd/kube-schemas -version v1.35.4 -sum h1:o/8dBC/pHVpYoGV4OAIytAlNPZbdYVTXJHoYvXC4qzM= -out ../e2e/chart/testdata/kubernetes/1.35.tsv
//go:generate env GOWORK=off go run -C ../../tools ./cmd/kube-schemas -version v1.36.3 -sum h1:qDQdoMiluAE2Eab6Fa52YV+WjiGz9mZFFoagEA6cI+o= -out ../e2e/chart/testdata/kubernetes/1.36.tsv
//go:generate env GOWORK=off go test -run ^TestKubernetesSchemas$ . -update

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/krmfn/krmfn/e2e/generated"
)

// kubernetesSchemas holds the schemas of one minor version, in the format of functions/kubeconform/schemas. Each line has a schema's name,
// the kinds that use the schema, and the schema, which refers to other schemas by name.
type kubernetesSchemas struct {
	file, release string
	// lines maps schema names to lines. names maps apiVersion/kind to schema names.
	lines, names map[string]string
}

func readKubernetesSchemas(t *testing.T) []*kubernetesSchemas {
	t.Helper()
	files, err := filepath.Glob("testdata/kubernetes/*.tsv")
	if err != nil || len(files) != 3 {
		t.Fatalf("want schemas of three minors, got %q, %v", files, err)
	}
	var all []*kubernetesSchemas
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &kubernetesSchemas{file: file, lines: map[string]string{}, names: map[string]string{}}
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(fields) != 3 {
				s.release = line
				continue
			}
			s.lines[fields[0]] = line
			for kind := range strings.SplitSeq(fields[1], ",") {
				s.names[kind] = fields[0]
			}
		}
		all = append(all, s)
	}
	return all
}

var schemaReference = regexp.MustCompile(`"\$ref":"([^"]+)"`)

// trimmed returns the file reduced to the schemas of the given kinds and the schemas that these refer to.
func (s *kubernetesSchemas) trimmed(kinds []string) string {
	wanted := map[string]bool{}
	var want func(name string)
	want = func(name string) {
		if wanted[name] || name == "" {
			return
		}
		wanted[name] = true
		for _, reference := range schemaReference.FindAllStringSubmatch(s.lines[name], -1) {
			want(reference[1])
		}
	}
	for _, kind := range kinds {
		want(s.names[kind])
	}
	var lines []string
	for name := range wanted {
		lines = append(lines, s.lines[name])
	}
	slices.Sort(lines)
	return s.release + strings.Join(lines, "")
}

// Load implements jsonschema.URLLoader. It returns a schema by name, and rejects fields that the schema does not list.
func (s *kubernetesSchemas) Load(url string) (any, error) {
	fields := strings.Split(s.lines[strings.TrimPrefix(url, "kubernetes:///")], "\t")
	if len(fields) != 3 {
		return nil, fmt.Errorf("%s has no schema %s: run go generate", s.file, url)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(fields[2]))
	if object, ok := document.(map[string]any); ok && object["properties"] != nil {
		object["additionalProperties"] = false
	}
	return document, err
}

func id(o *object) string { return o.GetAPIVersion() + "/" + o.GetKind() }

func TestKubernetesSchemas(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for _, r := range renderings(t) {
		for _, o := range r.objects {
			kinds[id(o)] = true
		}
	}
	for _, s := range readKubernetesSchemas(t) {
		generated.Check(t, s.file, s.trimmed(slices.Sorted(maps.Keys(kinds))), *update, "go -C e2e generate ./chart")
	}
}

func TestManifestsAreValid(t *testing.T) {
	t.Parallel()
	for _, s := range readKubernetesSchemas(t) {
		t.Run(filepath.Base(s.file), func(t *testing.T) {
			t.Parallel()
			compiler := jsonschema.NewCompiler()
			compiler.DefaultDraft(jsonschema.Draft4)
			compiler.UseLoader(s)
			compiled := map[string]*jsonschema.Schema{}
			for name, r := range renderings(t) {
				for _, o := range r.objects {
					if strings.HasPrefix(id(o), "monitoring.coreos.com/") || strings.HasPrefix(id(o), "cert-manager.io/") {
						continue
					}
					if compiled[id(o)] == nil {
						compiled[id(o)] = compiler.MustCompile("kubernetes:///" + s.names[id(o)])
					}
					if err := compiled[id(o)].Validate(o.Object); err != nil {
						t.Errorf("%s: %s: %v", name, o, err)
					}
				}
			}
		})
	}
}
