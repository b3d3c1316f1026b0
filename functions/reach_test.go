// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/functions/plain"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

const ownKind = "apiVersion: fn.kpt.dev/v1alpha1\nmetadata: {name: c}\nkind: "

func configMap(data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {" + data + "}\n"
}

func scriptOf(script string) string {
	return ownKind + "StarlarkRun\nsource: " + strconv.Quote(script) + "\n"
}

// ruleOf returns a policy with a Rego rule and a resource to review.
func ruleOf(rule string) string {
	return `
- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata: {name: each}
  spec: {crd: {spec: {names: {kind: Each}}}, targets: [{target: admission.k8s.gatekeeper.sh, rego: ` + strconv.Quote(rule) + `}]}
- {apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Each, metadata: {name: c}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: m}}
`
}

// hostile is a call in which the author of a package tries to reach more than the package.
type hostile struct{ items, config string }

const anyItem = "\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b}}\n"

// reachesFor returns calls of a function that try to read a location, which is a URL or a file path.
func reachesFor(name, location string) []hostile {
	at := func(config string) hostile { return hostile{anyItem, config} }
	chart := func(args string) hostile {
		return at(ownKind + "RenderHelmChart\nhelmGlobals: {chartHome: '" + location + "'}\nhelmCharts: [{chartArgs: {" + args + "}, templateOptions: {values: {valuesFiles: ['" + location + "']}}}]\n")
	}
	switch name {
	case "kubeconform", "kubeval":
		return []hostile{
			at(configMap("schema_location: '" + location + "'")),
			at(configMap("schema_location: '" + location + "/{{.ResourceKind}}.json'")),
			at(configMap("additional_schema_locations: '" + location + "', ignore_missing_schemas: 'false'")),
		}
	case "starlark":
		return []hostile{
			at(scriptOf("load('http.star', 'http')\nprint(http.get(" + strconv.Quote(location) + ").body())")),
			at(scriptOf("load('xlsx.star', 'xlsx')\nprint(xlsx.get_url(" + strconv.Quote(location) + "))")),
			at(scriptOf("load(" + strconv.Quote(location) + ", 'a')\nprint(a)")),
		}
	case "gatekeeper":
		return []hostile{
			{items: ruleOf(`package x violation[{"msg": msg}] { msg := http.send({"method": "get", "url": "` + location + `"}).raw_body }`)},
			{items: ruleOf(`package x violation[{"msg": msg}] { msg := sprintf("%v", [json.match_schema({}, {"$ref": "` + location + `"})]) }`)},
			{items: ruleOf(`package x violation[{"msg": msg}] { msg := sprintf("%v", [json.match_schema({}, {"$ref": "file://` + location + `"})]) }`)},
			{items: ruleOf(`package x violation[{"msg": msg}] { msg := sprintf("%v", [opa.runtime()]) }`)},
		}
	case "render-helm-chart":
		return []hostile{
			chart("name: web, repo: '" + location + "'"),
			chart("name: web, registry: 'oci://" + strings.TrimPrefix(location, "http://") + "'"),
			chart("name: '" + location + "'"),
		}
	case "generate-kpt-pkg-docs":
		return []hostile{{"\n- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: p, annotations: {config.kubernetes.io/path: Kptfile}}}\n", configMap("readme-path: '" + location + "'")}}
	case "set-image":
		return []hostile{at(configMap("name: a, newName: '" + location + "'"))}
	}
	keys := []string{"a", "namespace", "prefix", "prepend", "projectID", "by-value", "put-value", "path", "url", "enforcementAction", "source"}
	var all []hostile
	for _, key := range keys {
		all = append(all, at(configMap(key+": '"+location+"'")))
	}
	return append(all, at(workConfigs[name]))
}

// evaluate runs a function like a server: without environment variables that permit more.
func evaluate(t *testing.T, f function.Function, h hostile) string {
	t.Helper()
	var stderr strings.Builder
	ctx := function.WithProgram(t.Context(), function.Program{Stderr: &stderr})
	out, err := function.Run(ctx, f, []byte(functiontest.List(h.items, h.config)))
	return string(out) + stderr.String() + functiontest.ErrorText(err)
}

// Functions cannot connect to servers without the operator's permission.
func TestFunctionsHaveNoNetwork(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
			t.Cleanup(server.Close)
			for _, h := range reachesFor(f.Name, server.URL) {
				if out := evaluate(t, f, h); asked.Load() > 0 {
					t.Errorf("the server got %d requests with the functionConfig\n%s\noutput\n%s", asked.Load(), h.config, out)
				}
			}
		})
	}
}

// Functions cannot read or write files without the operator's permission, neither by an absolute path nor in the working
// directory. The test changes the working directory.
func TestFunctionsHaveNoFiles(t *testing.T) {
	const secret = "TRAPPED-SECRET"
	content := map[string]string{
		"secret.json": `{"enum": ["` + secret + `"]}`, "configmap.json": `{"enum": ["` + secret + `"]}`, "README.md": secret, "values.yaml": "a: " + secret,
		"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/templates/a.yaml": "kind: " + secret,
	}
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, f := range All() { //nolint:paralleltest // see above
		t.Run(f.Name, func(t *testing.T) {
			for _, location := range []string{
				".", "web", "secret.json", "README.md", "values.yaml", "{{.ResourceKind}}.json", dir, dir + "/web", dir + "/secret.json", dir + "/README.md", "file://" + dir + "/secret.json",
			} {
				for _, h := range reachesFor(f.Name, location) {
					if out := evaluate(t, f, h); strings.Contains(out, secret) {
						t.Errorf("the function read %s with the functionConfig\n%s\noutput\n%s", location, h.config, out)
					}
				}
			}
			left := map[string]string{}
			err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				left[filepath.ToSlash(strings.TrimPrefix(path, dir+"/"))] = string(text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content, left); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
		})
	}
}

// products are calls whose results would be far larger than their input. render-helm-chart and apply-replacements are missing,
// because their output is not limited in this process.
func products() map[string]hostile {
	long := strings.Repeat("x", 400_000)
	var items, fields strings.Builder
	for i := range 20_000 {
		items.WriteString("- {apiVersion: apps/v1, kind: Deployment, metadata: {name: a" + strconv.Itoa(i) + "}}\n")
		fields.WriteString("a,")
	}
	many := "\n" + items.String()
	list := "\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, spec: [" + fields.String() + "]}\n"
	return map[string]hostile{
		"apply-setters":          {"\n- kind: A\n  a: b # kpt-set: " + strings.Repeat("${a}", 10_000) + "\n", configMap("a: " + long)},
		"create-setters":         {many, configMap("a: " + long)},
		"ensure-name-substring":  {many, configMap("prepend: " + long)},
		"gatekeeper":             {ruleOf(`package x violation[{"msg": msg}] { msg := sprintf("%v", [count(numbers.range(1, 400000000))]) }`), ""},
		"search-replace":         {list, configMap("by-value: a, put-value: " + long)},
		"set-annotations":        {many, configMap("a: " + long)},
		"set-enforcement-action": {many, configMap("enforcementAction: " + long)},
		"set-image":              {many, configMap("name: a, newName: " + long)},
		"set-labels":             {many, configMap("a: " + long)},
		"set-name-prefix":        {many, configMap("prefix: " + long)},
		"set-namespace":          {many, configMap("namespace: " + long)},
		"set-project-id":         {many, configMap("project-id: " + long)},
		"starlark":               {anyItem, scriptOf("x = ('a' * 1000000).replace('a', 'b' * 20000)")},
		"validate-cel":           {anyItem, configMap("a: \"'" + strings.Repeat("a", 10_000) + "'.replace('a', '" + strings.Repeat("b", 10_000) + "') == ''\"")},
	}
}

// Functions limit their output before they allocate memory for it.
func TestFunctionsMemoryIsBounded(t *testing.T) { //nolint:paralleltest // it measures allocations
	calls := products()
	unknown := maps.Clone(calls)
	for _, f := range All() { //nolint:paralleltest // see above
		delete(unknown, f.Name)
		h, found := calls[f.Name]
		if !found {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out := evaluate(t, f, h)
			runtime.ReadMemStats(&after)
			if len(out) > 64<<20 || !strings.Contains(out, functiontest.Failed) {
				t.Errorf("the function succeeded with %d bytes of output, want a failure", len(out))
			}
			if most := uint64(2 << 30); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("the call allocated %d bytes, want at most %d", after.TotalAlloc-before.TotalAlloc, most)
			}
		})
	}
	if len(unknown) > 0 && len(heavy) > 0 {
		t.Errorf("calls of unknown functions: %v", unknown)
	}
}

// Functions that can run for long stop when their context ends.
func TestFunctionsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	endless := map[string]hostile{
		"starlark":   {anyItem, scriptOf("while True:\n  pass")},
		"gatekeeper": {ruleOf(`package x violation[{"msg": "m"}] { n := numbers.range(1, 1000); x := n[_]; y := n[_]; z := n[_]; x + y + z == 0 }`), ""},
	}
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(function.WithProgram(t.Context(), function.Program{Stderr: io.Discard}), 50*time.Millisecond)
			defer cancel()
			h, long := endless[f.Name]
			if !long {
				h = hostile{anyItem, workConfigs[f.Name]}
			}
			_, err := function.Run(ctx, f, []byte(functiontest.List(h.items, h.config)))
			if long && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error = %v, want %v", err, context.DeadlineExceeded)
			}
		})
	}
}

// The threat model has a row for each function, and says where functions run that are not plain.
func TestThreatModelHasEveryFunction(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "### What a curated function can reach\n")
	if !found {
		t.Fatal("docs/threat-model.md has no section about what a curated function can reach")
	}
	section, _, _ = strings.Cut(section, "\n### ")
	for _, f := range All() {
		found := false
		for line := range strings.Lines(section) {
			cells := strings.Split(line, "|")
			if len(cells) != 7 || !strings.Contains(cells[1], "`"+f.Name+"`") {
				continue
			}
			found = true
			for i, cell := range cells[2:6] {
				if strings.TrimSpace(cell) == "" {
					t.Errorf("the row of %s lacks cell %d", f.Name, i+2)
				}
			}
			if _, isPlain := plain.Functions().Lookup(f.Name); isPlain == strings.Contains(cells[4], "process") {
				t.Errorf("the row of %s says %q about memory; separate process in servers = %t", f.Name, cells[4], !isPlain)
			}
		}
		if !found {
			t.Errorf("there is no row for %s", f.Name)
		}
	}
}
