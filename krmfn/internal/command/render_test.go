// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/report"
)

// rendered are the files of the package after a render.
func rendered() map[string]string {
	return map[string]string{
		"Kptfile": kptfile, "README.md": "# shop\n",
		"web.yaml":         strings.NewReplacer("replicas: 1", "replicas: 3", "# of the shop\n", "# of the shop\n  labels:\n    app: web\n").Replace(deployment),
		"net/service.yaml": strings.NewReplacer("  name: web\n", "  name: web\n  labels:\n    app: web\n", "spec:\n", "spec:\n", "    - port: 80\n", "    - port: 80\n  selector:\n    app: web\n").Replace(service),
	}
}

// stateless returns files without the status of the Kptfile.
func stateless(files map[string]string) map[string]string {
	files = maps.Clone(files)
	files["Kptfile"], _, _ = strings.Cut(files["Kptfile"], "status:\n")
	return files
}

func TestRenderInPlace(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"in process": nil, "in process, by its former flag": {"--builtin"}, "isolated": {"--isolate"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newPackage(t, nil)
			krmfn(t, append([]string{"render", dir}, args...)...).ok(t)
			after := snapshot(t, dir)
			if diff := cmp.Diff(rendered(), stateless(after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			contains(t, after["Kptfile"], "\nstatus:\n  conditions:\n    - type: Rendered\n      status: \"True\"\n", "set 5 labels in total")
			// What the functions have to say the second time is new to the status.
			krmfn(t, append([]string{"render", dir}, args...)...).ok(t)
			again := krmfn(t, append([]string{"render", dir, "--verbose"}, args...)...).ok(t)
			if diff := cmp.Diff(rendered(), stateless(snapshot(t, dir))); diff != "" {
				t.Errorf("rendered again (-want +got):\n%s", diff)
			}
			contains(t, again.err, "no files changed.")
		})
	}
}

var evaluators = regexp.MustCompile(`exec (\S+ VERSION \(curated\))`)

func TestRenderOutput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		changed map[string]string
		width   int
		args    []string
		code    int
	}{
		"plain.txt":        {},
		"live.txt":         {width: 120},
		"live-mono.txt":    {width: 120, args: []string{"--color=never"}},
		"fail.txt":         {changed: map[string]string{"web.yaml": strings.Replace(deployment, "containerPort", "x", 1) + "    bogus: [\n"}, code: failure.Failed},
		"invalid.txt":      {changed: map[string]string{"net/service.yaml": service + "  type: 5\n"}, code: failure.Failed},
		"invalid-live.txt": {changed: map[string]string{"net/service.yaml": service + "  type: 5\n"}, width: 120, code: failure.Failed},
		"quiet.txt":        {changed: map[string]string{"net/service.yaml": service + "  type: 5\n"}, args: []string{"-q"}, code: failure.Failed},
		"dry-run.txt":      {args: []string{"--dry-run"}},
		"unknown.txt":      {changed: map[string]string{"Kptfile": strings.ReplaceAll(kptfile, "set-labels", "set-nothing")}, code: failure.Failed},
		"strict.txt":       {changed: map[string]string{"Kptfile": strings.ReplaceAll(kptfile, "set-labels:v0.2", "set-labels:v9")}, args: []string{"--strict-versions"}, code: failure.Failed},
		"kptfile.txt":      {changed: map[string]string{"Kptfile": kptfile + "bogus: true\n"}, code: failure.Failed},
		"exec.txt":         {changed: map[string]string{"Kptfile": kptfile + "    - exec: sh -c 'cat; echo hello >&2'\n"}, args: []string{"--allow-exec"}},
		"exec-banned.txt":  {changed: map[string]string{"Kptfile": kptfile + "    - exec: sh -c 'cat; echo hello >&2'\n"}, code: failure.Failed},
	} {
		for _, isolate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/isolated=%t", name, isolate), func(t *testing.T) {
				t.Parallel()
				dir := newPackage(t, tc.changed)
				before := snapshot(t, dir)
				args := append([]string{"render", dir, fmt.Sprintf("--isolate=%t", isolate)}, tc.args...)
				got := invocation{args: args, width: tc.width}.run(t.Context(), t)
				if got.code != tc.code {
					t.Errorf("exit code %d, want %d", got.code, tc.code)
				}
				if tc.code != failure.OK || name == "dry-run.txt" {
					unchanged(t, dir, before, "Kptfile")
				}
				text := strings.ReplaceAll(timeless("stdout:\n"+got.out+"stderr:\n"+got.err), dir, "DIR")
				if isolate {
					// All that people see of it is what ran the function.
					text = evaluators.ReplaceAllString(text, "builtin $1")
				}
				golden(t, name, text)
			})
		}
	}
}

func TestNoColor(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	args := []string{"render", dir, "--dry-run"}
	coloured := invocation{args: args, width: 120}.run(t.Context(), t).ok(t)
	contains(t, coloured.out, "\x1b[32m+")
	plain := invocation{args: args, width: 120, environ: []string{"NO_COLOR=1"}}.run(t.Context(), t).ok(t)
	if strings.Contains(plain.out+strings.ReplaceAll(plain.err, "\x1b[K", ""), "\x1b[") {
		t.Errorf("there are colours with NO_COLOR:\n%q\n%q", plain.out, plain.err)
	}
}

func TestRenderElsewhere(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	before := snapshot(t, dir)
	target := filepath.Join(t.TempDir(), "new", "dir")
	krmfn(t, "render", dir, "-o", target).ok(t)
	want := rendered()
	delete(want, "README.md")
	if diff := cmp.Diff(want, snapshot(t, target)); diff != "" {
		t.Errorf("directory (-want +got):\n%s", diff)
	}
	unwrapped := krmfn(t, "render", dir, "-o", "unwrap").ok(t)
	if got := strings.Count(unwrapped.out, "---\n"); got != 2 || strings.Contains(unwrapped.out, "config.kubernetes.io/path") {
		t.Errorf("unwrapped:\n%s", unwrapped.out)
	}
	list := krmfn(t, "render", dir, "-o", "stdout").ok(t)
	contains(t, list.out, "kind: ResourceList\nitems:\n", "internal.config.kubernetes.io/path: 'net/service.yaml'", "replicas: 3 # kpt-set")
	unchanged(t, dir, before)

	again := krmfn(t, "render", dir, "-o", target)
	if again.code != failure.Failed || !strings.Contains(again.err, "already exists, please delete the directory and retry") {
		t.Errorf("got %+v", again)
	}
	invalid := newPackage(t, map[string]string{"net/service.yaml": service + "  type: 5\n"})
	other := filepath.Join(t.TempDir(), "other")
	for _, output := range []string{"stdout", "unwrap", other} {
		failed := krmfn(t, "render", invalid, "-o", output)
		if failed.code != failure.Failed || failed.out != "" {
			t.Errorf("%s: got %d and %q", output, failed.code, failed.out)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the directory was made though the render failed")
	}
}

func TestRenderJSON(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		service string
		args    []string
		code    int
		changed []string
		written bool
		errText string
		// ran is what evaluates the functions; builtin where it is not said.
		ran string
	}{
		"isolated":  {service: service, args: []string{"-o", "json", "--isolate"}, changed: []string{"Kptfile", "net/service.yaml", "web.yaml"}, written: true, ran: "exec"},
		"in place":  {service: service, args: []string{"-o", "json"}, changed: []string{"Kptfile", "net/service.yaml", "web.yaml"}, written: true},
		"as format": {service: service, args: []string{"--format=json", "-o", filepath.Join(t.TempDir(), "x")}, changed: []string{"net/service.yaml", "web.yaml"}, written: true},
		"dry run":   {service: service, args: []string{"-o=json", "--dry-run"}, changed: []string{"Kptfile", "net/service.yaml", "web.yaml"}},
		"failure":   {service: service + "  type: 5\n", args: []string{"-o=json"}, code: failure.Failed, changed: []string{"Kptfile"}, written: true, errText: "fn.render: pkg "},
		"no runner": {service: service, args: []string{"-o=json", "--runner=127.0.0.1:1"}, code: failure.RunnerFailed, changed: []string{}, errText: "127.0.0.1:1 cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := krmfn(t, append([]string{"render", newPackage(t, map[string]string{"net/service.yaml": tc.service})}, tc.args...)...)
			var doc report.Document
			if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
				t.Fatalf("%v in\n%s", err, got.out)
			}
			if got.code != tc.code || doc.Written != tc.written || !strings.HasPrefix(doc.RenderStatus.Error, tc.errText) && !strings.Contains(doc.RenderStatus.Error, tc.errText) ||
				(tc.errText == "") != (doc.RenderStatus.Error == "") {
				t.Errorf("got exit code %d, written %v, error %q", got.code, doc.Written, doc.RenderStatus.Error)
			}
			files := make([]string, 0, len(doc.ChangedFiles))
			for _, f := range doc.ChangedFiles {
				files = append(files, f.Path)
				if (f.Diff != "") != (name == "dry run") {
					t.Errorf("%s has diff %q", f.Path, f.Diff)
				}
			}
			if diff := cmp.Diff(tc.changed, files); diff != "" {
				t.Errorf("changed files (-want +got):\n%s", diff)
			}
			if tc.code == failure.RunnerFailed {
				return
			}
			ran := tc.ran
			if ran == "" {
				ran = "builtin"
			}
			if len(doc.Functions) != 3 || doc.Functions[0].Evaluator != ran || doc.Functions[0].Duration <= 0 ||
				!strings.HasPrefix(doc.Functions[0].Implementation, "set-labels v") {
				t.Errorf("functions are %+v", doc.Functions)
			}
		})
	}
}

func TestResultsDir(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"success": service, "failure": service + "  type: 5\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := filepath.Join(t.TempDir(), "a", "b")
			got := krmfn(t, "render", newPackage(t, map[string]string{"net/service.yaml": content}), "--results-dir", results)
			text, err := os.ReadFile(filepath.Join(results, "results.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, string(text), "kind: FunctionResultList\nmetadata:\n  name: fnresults\nexitCode: ", "items:\n  - image: "+prefix+"set-labels:v0.2\n")
			contains(t, got.err, "For complete results, see "+filepath.Join(results, "results.yaml"))
		})
	}
	blocked := krmfn(t, "render", newPackage(t, nil), "--results-dir", "/dev/null/x")
	if blocked.code != failure.Failed {
		t.Errorf("exit code %d for a directory that cannot be made", blocked.code)
	}
}

// Short names get the prefix, from the flag or the environment.
func TestImagePrefix(t *testing.T) {
	t.Parallel()
	short := map[string]string{"Kptfile": strings.ReplaceAll(kptfile, prefix, "")}
	for name, i := range map[string]invocation{
		"flag":        {args: []string{"--default-image-prefix=mirror.io/fns/"}},
		"environment": {environ: []string{"KPT_IMAGE_PREFIX=mirror.io/fns"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i.args = append([]string{"render", newPackage(t, short)}, i.args...)
			contains(t, i.run(t.Context(), t).ok(t).err, `[PASS] "mirror.io/fns/set-labels:v0.2" in `)
		})
	}
	if got := krmfn(t, "render", "--default-image-prefix=https://x", newPackage(t, short)); got.code != failure.Failed {
		t.Errorf("got %+v", got)
	}
}

// The example of the demonstration renders, rendering it again changes nothing, and it is not rendered yet.
func TestExample(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "web-shop")
	if err := os.CopyFS(dir, os.DirFS("../../../examples/web-shop")); err != nil {
		t.Fatal(err)
	}
	first := krmfn(t, "render", "--verbose", dir).ok(t)
	contains(t, first.err, "Successfully executed 7 function(s) in 1 package(s).", "7 files changed: 7 modified.")
	after := snapshot(t, dir)
	contains(t, after["config.yaml"], "HOSTNAME: shop.example.com", "CACHE_ADDRESS: cache:6379")
	contains(t, after["ingress.yaml"], "    - host: shop.example.com")
	contains(t, after["cache/deployment.yaml"], "runAsNonRoot: true", "app.kubernetes.io/part-of: web-shop")
	for name, content := range after {
		if strings.HasSuffix(name, ".yaml") && strings.Count(content, "namespace: web-shop") != strings.Count(content, "\nkind: ")*bit(!strings.Contains(content, "local-config")) {
			t.Errorf("%s is not in the namespace:\n%s", name, content)
		}
	}
	krmfn(t, "render", dir).ok(t)
	unchanged(t, dir, after, "Kptfile")
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
