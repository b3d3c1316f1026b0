// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

const everything = `
image: set-x
prefixes: ["", "other.io/y/"]
goExecutor: {tags: [v1], id: ignored}
binaryExecutor: {tags: [v1, v2], path: set-x}
podExecutor:
  tags: [v1, v3]
  timeToLive: 5m
  maxParallelExecutions: 4
  preferredMaxQueueLength: 2
  later: not known
  templateOverrides:
    serviceAccountName: sa
    securityContext: {runAsUser: 5}
    initContainer:
      image: evil.io/wrapper
      resources: {requests: {cpu: 10m}}
    container:
      resources: {limits: {memory: 1Gi}}
      envFrom: [{configMapRef: {name: cm}}]
      env: [{name: A, value: "1"}]
`

func TestState(t *testing.T) {
	t.Parallel()
	whole := functionconfig.Settings{TTL: 5 * time.Minute, MaxPods: 4, Waitlist: 2, Overrides: &functionconfig.Overrides{
		ServiceAccountName: "sa", SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(5))},
		InitContainer: functionconfig.ContainerOverrides{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}},
		Container: functionconfig.ContainerOverrides{
			Limits:  corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}},
			Env:     []corev1.EnvVar{{Name: "A", Value: "1"}},
		},
	}}
	for _, tc := range []struct {
		name string
		// specs are the specs of the objects a, b and so on, from the oldest to the newest.
		specs []string
		// images maps images to their executables.
		images map[string]string
		pods   map[string]functionconfig.Settings
		warm   []string
		// problems are the problems of all objects.
		problems []string
	}{
		{
			name: "everything", specs: []string{everything},
			images: map[string]string{
				"r.io/set-x:v1": "/functions/set-x", "r.io/set-x:v2": "/functions/set-x",
				"other.io/y/set-x:v1": "/functions/set-x", "other.io/y/set-x:v2": "/functions/set-x",
			},
			pods: map[string]functionconfig.Settings{"r.io/set-x": whole, "other.io/y/set-x": whole},
			// A tag with an executable needs no pod.
			warm: []string{"r.io/set-x:v3"},
		},
		{
			name: "no prefixes are the default prefix", specs: []string{"{image: a, binaryExecutor: {tags: [latest], path: a}, podExecutor: {tags: [v9]}}"},
			images: map[string]string{"r.io/a:latest": "/functions/a"}, pods: map[string]functionconfig.Settings{"r.io/a": {}}, warm: []string{"r.io/a:v9"},
		},
		{
			name: "all tags of the first prefix are warmed", specs: []string{"{image: a, prefixes: [x.io, y.io//, x.io/], podExecutor: {tags: [v2, v1, v2]}}"},
			pods: map[string]functionconfig.Settings{"x.io/a": {}, "y.io/a": {}}, warm: []string{"x.io/a:v1", "x.io/a:v2"},
		},
		{name: "executors of others", specs: []string{"{image: a, goExecutor: {tags: [v1]}}"}},
		{name: "no executor", specs: []string{"{image: a}"}},
		{name: "nulls", specs: []string{"{image: a, prefixes: null, podExecutor: null, binaryExecutor: null}"}},
		{
			name: "less than one is left to the flags", specs: []string{"{image: a, podExecutor: {timeToLive: -5m, maxParallelExecutions: -1, preferredMaxQueueLength: 0}}"},
			pods: map[string]functionconfig.Settings{"r.io/a": {}},
		},
		{
			name: "overrides of nothing", specs: []string{"{image: a, podExecutor: {templateOverrides: {container: {resources: {}}, initContainer: {}}}}"},
			pods: map[string]functionconfig.Settings{"r.io/a": {}},
		},
		{
			name: "an environment that is emptied", specs: []string{"{image: a, podExecutor: {templateOverrides: {container: {env: []}}}}"},
			pods: map[string]functionconfig.Settings{"r.io/a": {Overrides: &functionconfig.Overrides{Container: functionconfig.ContainerOverrides{Env: []corev1.EnvVar{}}}}},
		},
		{
			name: "the oldest object counts",
			specs: []string{
				"{image: a, podExecutor: {maxParallelExecutions: 1}, binaryExecutor: {tags: [v1], path: one}}",
				"{image: a, prefixes: ['', x.io], podExecutor: {maxParallelExecutions: 2, tags: [v2]}, binaryExecutor: {tags: [v1, v2], path: two}}",
			},
			images: map[string]string{"r.io/a:v1": "/functions/one", "r.io/a:v2": "/functions/two", "x.io/a:v1": "/functions/two", "x.io/a:v2": "/functions/two"},
			pods:   map[string]functionconfig.Settings{"r.io/a": {MaxPods: 1}, "x.io/a": {MaxPods: 2}},
			problems: []string{
				"b: spec.binaryExecutor: r.io/a:v1 has the executable of the older FunctionConfig a",
				"b: spec.podExecutor: the pods of r.io/a are as the older FunctionConfig a has them",
			},
		},
		{
			name: "same names in several registries", specs: []string{
				"{image: a, prefixes: [x.io], podExecutor: {maxParallelExecutions: 1}}", "{image: a, prefixes: [y.io], podExecutor: {maxParallelExecutions: 2}}",
			},
			pods: map[string]functionconfig.Settings{"x.io/a": {MaxPods: 1}, "y.io/a": {MaxPods: 2}},
		},
		{
			name:     "an executable that is none",
			specs:    []string{"{image: a, podExecutor: {maxParallelExecutions: 2}, binaryExecutor: {tags: [v1], path: gone}}"},
			pods:     map[string]functionconfig.Settings{"r.io/a": {MaxPods: 2}},
			problems: []string{"a: spec.binaryExecutor.path: executable gone is missing"},
		},
		{
			name: "what makes no sense",
			specs: []string{
				"{image: '', podExecutor: {}}", "{image: 'a:v1', podExecutor: {}}", "{image: a, prefixes: ['https://x.io', y.io, 'Z.io/UPPER'], podExecutor: {tags: ['', 'v1@x', 'a/b', v1]}}",
				"{image: b, binaryExecutor: {tags: [], path: b}}", "{image: c, binaryExecutor: {tags: [v1]}}", "{image: 'd e', podExecutor: {}}",
				"{image: f, binaryExecutor: {tags: ['v 1', v2], path: f}}",
			},
			images: map[string]string{"r.io/f:v2": "/functions/f"}, pods: map[string]functionconfig.Settings{"y.io/a": {}}, warm: []string{"y.io/a:v1"},
			problems: []string{
				"a: spec.image is missing: name the function, such as set-labels",
				"b: spec.image has a tag or digest: give the name alone, and tags with the executors",
				`c: invalid image prefix "https://x.io": must not include a scheme (e.g. https://)`,
				`c: invalid image prefix "Z.io/UPPER": must be a valid registry path`,
				`c: spec.podExecutor: tag "" of spec.image "a" is invalid: it ` + functionconfig.ErrInvalidTag.Error(),
				`c: spec.podExecutor: tag "v1@x" of spec.image "a" is invalid: it ` + functionconfig.ErrInvalidTag.Error(),
				`c: spec.podExecutor: tag "a/b" of spec.image "a" is invalid: it ` + functionconfig.ErrInvalidTag.Error(),
				"d: spec.binaryExecutor.tags is empty: name the tags that the executable answers to",
				"e: spec.binaryExecutor.path is missing: name an executable",
				`f: function image reference "r.io/d e" is invalid: invalid reference format`,
				`g: spec.binaryExecutor: tag "v 1" of spec.image "f" is invalid: it ` + functionconfig.ErrInvalidTag.Error(),
			},
		},
		{
			name: "other types, whose values are not told",
			specs: []string{
				"{image: 1, prefixes: secret, podExecutor: 3}",
				"{image: a, prefixes: [1], binaryExecutor: [x]}",
				"{image: b, podExecutor: {timeToLive: secret, maxParallelExecutions: secret, preferredMaxQueueLength: 3000000000, tags: {}, " +
					"templateOverrides: {serviceAccountName: 1, securityContext: secret, container: {env: secret, envFrom: [secret], resources: {requests: {cpu: secret}}}, initContainer: secret}}}",
				"{image: c, podExecutor: {maxParallelExecutions: 2.0, preferredMaxQueueLength: 2.5, templateOverrides: secret}}",
			},
			pods: map[string]functionconfig.Settings{"r.io/b": {}, "r.io/c": {MaxPods: 2}},
			problems: []string{
				"a: spec.image is no string", "a: spec.prefixes is no list", "a: spec.image is missing: name the function, such as set-labels", "a: spec.podExecutor is no object",
				"b: spec.prefixes has an item that is no string", "b: spec.binaryExecutor is no object",
				"c: spec.podExecutor.tags is no list", "c: spec.podExecutor.timeToLive is no duration such as 30m",
				"c: spec.podExecutor.maxParallelExecutions is no number up to 2147483647", "c: spec.podExecutor.preferredMaxQueueLength is no number up to 2147483647",
				"c: spec.podExecutor.templateOverrides.serviceAccountName is no string", "c: spec.podExecutor.templateOverrides.securityContext is not what it is in a pod",
				"c: spec.podExecutor.templateOverrides.initContainer is no object",
				"c: spec.podExecutor.templateOverrides.container.resources.requests is not what it is in a pod",
				"c: spec.podExecutor.templateOverrides.container.envFrom is not what it is in a pod", "c: spec.podExecutor.templateOverrides.container.env is not what it is in a pod",
				"d: spec.podExecutor.preferredMaxQueueLength is no number up to 2147483647", "d: spec.podExecutor.templateOverrides is no object",
			},
		},
		{name: "no spec", specs: []string{""}, problems: []string{"a: spec is no object"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var objects []*unstructured.Unstructured
			for i, spec := range tc.specs {
				u := object(t, string(rune('a'+i)), spec)
				u.SetCreationTimestamp(metav1.Unix(int64(i), 0))
				objects = append(objects, u)
			}
			slices.Reverse(objects)
			r := &replica{initContainer: true, executables: map[string]bool{"gone": false}}
			rules := r.rules()
			s := newState(&rules, objects)
			images := map[string]string{}
			for _, f := range s.functions {
				for _, name := range f.Images {
					images[name] = f.Path
				}
			}
			var problems []string
			for _, name := range slices.Sorted(maps.Keys(s.verdicts)) {
				for _, problem := range s.verdicts[name].problems {
					problems = append(problems, name+": "+problem)
				}
			}
			for what, diff := range map[string]string{
				"executables": cmp.Diff(orEmpty(tc.images), images), "pods": cmp.Diff(orEmpty(tc.pods), s.pods), "warm": cmp.Diff(tc.warm, s.warm),
				"problems": cmp.Diff(tc.problems, problems),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func orEmpty[M ~map[string]V, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

// Annotations declare traits for the executable and the pods of an object, even for pods without a podExecutor.
func TestDeclared(t *testing.T) {
	t.Parallel()
	declared := map[string]string{traits.WorkerLabel: "true", traits.StandbyLabel: "false"}
	for name, tc := range map[string]struct {
		spec        string
		annotations map[string]string
		// executable and pods are the declared annotations of the executable and of the pods. Nil means none.
		executable, pods map[string]string
		problems         []string
	}{
		"an executable and pods": {spec: everything, annotations: declared, executable: declared, pods: declared},
		"pods of another kind":   {spec: "{image: set-x, goExecutor: {tags: [v1]}}", annotations: declared, pods: declared},
		"nothing":                {spec: everything, annotations: map[string]string{"krmfn.dev/other": "true"}},
		"a wrong value": {
			spec: "{image: set-x}", annotations: map[string]string{traits.WorkerLabel: "si"}, pods: map[string]string{traits.WorkerLabel: "si"},
			problems: []string{`metadata.annotations are invalid: krmfn.dev/worker is "si", want true or false`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &replica{initContainer: true}
			rules := r.rules()
			u := object(t, "a", tc.spec)
			u.SetAnnotations(tc.annotations)
			s := newState(&rules, []*unstructured.Unstructured{u})
			var executable map[string]string
			for _, f := range s.functions {
				executable = f.Declared
			}
			for what, diff := range map[string]string{
				"executable": cmp.Diff(tc.executable, executable), "pods": cmp.Diff(tc.pods, s.pods["r.io/set-x"].Declared),
				"problems": cmp.Diff(tc.problems, s.verdicts["a"].problems),
			} {
				if diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// Without an init container, an object with overrides for it has a problem. Without executables, binaryExecutor has no effect.
func TestOtherRules(t *testing.T) {
	t.Parallel()
	r := &replica{}
	rules := r.rules()
	rules.Executable = nil
	u := object(t, "a", everything)
	s := newState(&rules, []*unstructured.Unstructured{u})
	want := []string{"spec.podExecutor.templateOverrides.initContainer does not apply: function pods have no init container here"}
	if diff := cmp.Diff(want, s.verdicts["a"].problems); diff != "" || len(s.functions) > 0 {
		t.Errorf("executables = %d, want 0, problems (-want +got):\n%s", len(s.functions), diff)
	}
	if diff := cmp.Diff([]string{"r.io/set-x:v1", "r.io/set-x:v3"}, s.warm); diff != "" {
		t.Errorf("warm (-want +got):\n%s", diff)
	}
	// Settings apply to the references after rewriting.
	rewrites := &reference.Rewrites{}
	if err := rewrites.Set("r.io=mirror.io/m"); err != nil {
		t.Fatal(err)
	}
	rules.Reference = func(name string) (string, error) {
		ref, err := resolved(name)
		return rewrites.Apply(ref), err
	}
	s = newState(&rules, []*unstructured.Unstructured{u})
	if diff := cmp.Diff([]string{"mirror.io/m/set-x", "other.io/y/set-x"}, slices.Sorted(maps.Keys(s.pods))); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"mirror.io/m/set-x:v1", "mirror.io/m/set-x:v3"}, s.warm); diff != "" {
		t.Errorf("warm (-want +got):\n%s", diff)
	}
}

// For any spec, newState returns references with tags, valid settings, and problems without newlines.
func FuzzState(f *testing.F) {
	f.Add(`{"image":"a","prefixes":[""],"binaryExecutor":{"tags":["v1"],"path":"a"},"podExecutor":{"tags":["v1"],"timeToLive":"1m"}}`)
	f.Add(`{"image":"a","podExecutor":{"maxParallelExecutions":1e300,"templateOverrides":{"container":{"resources":{"limits":{"cpu":"1e999999999"}},"env":[{"name":"A"}]}}}}`)
	f.Add(`{"image":"a@b","podExecutor":{"templateOverrides":{"securityContext":{"runAsUser":1}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var spec any
		if json.Unmarshal([]byte(text), &spec) != nil {
			return
		}
		u := &unstructured.Unstructured{}
		object, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "X", "metadata": map[string]any{"name": "a"}, "spec": spec})
		if err != nil || u.UnmarshalJSON(object) != nil {
			return
		}
		r := &replica{}
		rules := r.rules()
		s := newState(&rules, []*unstructured.Unstructured{u})
		references := slices.Clone(s.warm)
		for _, function := range s.functions {
			references = append(references, function.Images...)
		}
		for _, ref := range references {
			repository, tag, digest := reference.Split(ref)
			if err := reference.Validate(ref); err != nil || tag == "" || digest != "" || !strings.Contains(repository, "/") {
				t.Errorf("reference %q: %v, want a valid one with a repository and a tag", ref, err)
			}
		}
		for repository, settings := range s.pods {
			if settings.TTL < 0 || settings.MaxPods < 0 || settings.Waitlist < 0 {
				t.Errorf("settings of %s = %+v, want no negative values", repository, settings)
			}
			if _, err := json.Marshal(settings.Overrides); err != nil {
				t.Errorf("overrides of %s: %v", repository, err)
			}
		}
		v := s.verdicts["a"]
		if strings.Contains(v.text(), "\n") || len(v.text()) > maxError {
			t.Errorf("text() = %q, want one line of at most %d bytes", v.text(), maxError)
		}
		if c := v.change(); c != nil && !json.Valid(c.patch) {
			t.Errorf("patch = %s, want valid JSON", c.patch)
		}
	})
}
