// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	runner "github.com/krmfn/krmfn/function-runner/options"
	warmer "github.com/krmfn/krmfn/image-warmer/options"
	janitor "github.com/krmfn/krmfn/pod-janitor/options"
	handler "github.com/krmfn/krmfn/task-handler/options"
)

// component is a program whose flags the chart sets.
type component struct {
	flags *pflag.FlagSet
	// parse parses a command line as the program does.
	parse func(args, environ []string) error
	// without lists the flags that no chart value sets, each with a reason. Users can set them by extraArgs. The reasons include fixed (by
	// the image or the chart), odd (rarely needed), hook (only hooks use the flag) and manual (for people who run the program by hand).
	without map[string]string
}

var components = map[string]component{
	"function-runner": {
		flags: new(runner.Options).Flags(),
		parse: func(args, _ []string) error { _, err := runner.Parse(args); return err },
		without: map[string]string{
			"port": "fixed", "disable-runtimes": "odd", "strict-config": "odd", "kubeconfig": "manual", "image-cache-file": "odd",
			"max-parallel-warm-ups":     "odd",
			"max-bytes-in-flight":       "follows from the memory limit",
			"registry-auth-secret-path": "fixed", "registry-auth-secret-name": "fixed", "tls-secret-path": "fixed",
		},
	},
	"pod-janitor": {
		flags: new(janitor.Options).Flags(),
		parse: func(args, _ []string) error { _, err := janitor.Parse(args); return err },
		without: map[string]string{
			"kubeconfig": "manual", "format": "manual", "interval": "manual", "registry-auth-secret-name": "fixed",
			"timeout": "fixed", "all": "hook", "stop-deployment": "hook", "await-pods": "hook", "stop-timeout": "hook", "qps": "odd",
		},
	},
	"image-warmer": {
		flags: new(warmer.Options).Flags(),
		parse: func(args, environ []string) error { _, err := warmer.Parse(args, environ); return err },
		without: map[string]string{
			"kptfiles": "manual", "kubeconfig": "manual", "dry-run": "manual", "format": "manual", "metadata-file": "manual",
			"metadata-namespace": "fixed", "wrapper-image": "fixed",
			"registry-auth-secret-path": "fixed", "registry-auth-secret-name": "fixed", "tls-secret-path": "fixed",
		},
	},
	"task-handler": {
		flags:   new(handler.Options).Flags(),
		parse:   func(args, _ []string) error { _, err := handler.Parse(args); return err },
		without: map[string]string{"port": "fixed", "max-bytes-in-flight": "follows from the memory limit", "runner-token-file": "the chart's clients have certificates"},
	},
}

// commandLine returns the flags and the environment of a container, including the variables that Kubernetes sets in every container.
func commandLine(c corev1.Container) (args, environ []string) {
	args = c.Args
	if len(c.Command) > 1 {
		args = append(c.Command[1:], args...)
	}
	environ = []string{"KUBERNETES_SERVICE_HOST=10.96.0.1"}
	for _, variable := range c.Env {
		environ = append(environ, variable.Name+"="+variable.Value)
	}
	return args, environ
}

func TestFlagsAreUnderstood(t *testing.T) {
	t.Parallel()
	eachRendering(t, func(t *testing.T, r *rendering) {
		for _, w := range workloads(t, r) {
			c := w.spec.Containers[0]
			args, environ := commandLine(c)
			if of, known := components[c.Name]; !known {
				continue
			} else if err := of.parse(args, environ); err != nil {
				t.Errorf("%s does not start with %q: %v", w, args, err)
			}
		}
	})
}

// A chart value sets each flag, unless the flag is listed in without.
func TestFlagsHaveValues(t *testing.T) {
	t.Parallel()
	given := map[string]map[string]bool{}
	for name := range components {
		given[name] = map[string]bool{}
	}
	for name, r := range renderings(t) {
		if strings.HasPrefix(name, "extras") {
			continue
		}
		for _, w := range workloads(t, r) {
			if w.GetKind() == "Job" { // Jobs are hooks, which have flags that no value sets.
				continue
			}
			args, _ := commandLine(w.spec.Containers[0])
			for _, arg := range args {
				name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
				if flags := given[w.spec.Containers[0].Name]; flags != nil {
					flags[name] = true
				}
			}
		}
	}
	for name, of := range components {
		var without []string
		of.flags.VisitAll(func(f *pflag.Flag) {
			if !given[name][f.Name] {
				without = append(without, f.Name)
			}
		})
		slices.Sort(without)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(of.without)), without); diff != "" {
			t.Errorf("flags of %s that no value sets (-known +found); add a chart value or a reason:\n%s", name, diff)
		}
	}
}

// The pods of helm test use only flags that the reference of krmfn eval documents.
func TestFlagsOfTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(inCheckout(t, "docs", "krmfn.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## krmfn eval\n")
	section, _, _ = strings.Cut(section, "\n## ")
	r := renderOnce(t, nil)
	pods := r.of("Pod")
	if len(pods) != 2 {
		t.Fatalf("got %d test pods, want 2", len(pods))
	}
	for _, w := range workloads(t, &rendering{objects: pods}) {
		for _, arg := range w.spec.Containers[0].Args {
			name, _, isFlag := strings.Cut(arg, "=")
			if isFlag && strings.HasPrefix(name, "--") && !strings.Contains(section, name+" ") {
				t.Errorf("%s uses the flag %s, which the reference of krmfn eval does not document", w, name)
			}
		}
	}
}
