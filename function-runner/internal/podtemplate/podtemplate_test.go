// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/traits"
)

// porchTemplate resembles the templates in Porch's documentation, including annotations at a wrong place.
const porchTemplate = `
apiVersion: v1
kind: Pod
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: true
metadata: {name: fixed, labels: {team: a}}
spec:
  initContainers:
  - name: copy-wrapper-server
    image: registry.example.org/tools/wrapper-server:1.0
    command: [cp, -a, /wrapper-server/., /wrapper-server-tools]
    volumeMounts: [{name: wrapper-server-tools, mountPath: /wrapper-server-tools}]
  containers:
  - {name: sidecar, image: proxy}
  - name: function
    image: placeholder
    command: [/wrapper-server-tools/wrapper-server]
    args: [--verbosity=3]
  imagePullSecrets: [{name: mine}]
  volumes: [{name: wrapper-server-tools, emptyDir: {}}]
`

const porchService = `
apiVersion: v1
kind: Service
metadata: {annotations: {note: kept}}
spec:
  ports: [{port: 9446, targetPort: 9446, protocol: TCP}]
  selector: {fn.kpt.dev/image: placeholder, extra: kept}
`

func configMap(pod, service string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "templates"},
		Data:       map[string]string{"template": pod, "serviceTemplate": service},
	}
}

func function() *podtemplate.Values {
	return &podtemplate.Values{
		Reference: "r.io/fn:v1", Image: "r.io/fn@sha256:1", Digest: "sha256:1", Command: []string{"/fn", "--x"}, Pool: "0123abcd", MaxMessageSize: 1000,
		PullSecrets: []string{"auth-secret", "mine"}, TTL: 30 * time.Minute,
	}
}

func build(t *testing.T, template *podtemplate.Template, f *podtemplate.Values) (*corev1.Pod, *corev1.Service) {
	t.Helper()
	pod, service, err := template.Build(f, "fns", "fn-v1-2-0123abcd", 2)
	if err != nil {
		t.Fatal(err)
	}
	return pod, service
}

// identity is the environment that identifies the pod to the wrapper server.
var identity = []corev1.EnvVar{
	{Name: "KRMFN_POD_UID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"}}},
	{Name: "KRMFN_FUNCTION", Value: "r.io/fn:v1@sha256:1"},
}

func TestTemplateOfPorch(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Parse(configMap(porchTemplate, porchService), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := function()
	f.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	pod, service := build(t, template, f)
	want := metav1.ObjectMeta{
		Name: "fn-v1-2-0123abcd", Namespace: "fns",
		Labels: map[string]string{"team": "a", "fn.kpt.dev/image": "fn-v1-2-0123abcd", "krmfn.dev/pool": "0123abcd", "krmfn.dev/ordinal": "2"},
		Annotations: map[string]string{
			"fn.kpt.dev/template-version": template.VersionFor(f), "krmfn.dev/image": "r.io/fn:v1", "krmfn.dev/digest": "sha256:1", "krmfn.dev/ttl": "30m0s",
		},
	}
	if diff := cmp.Diff(want, pod.ObjectMeta); diff != "" {
		t.Errorf("metadata of the pod (-want +got):\n%s", diff)
	}
	want = metav1.ObjectMeta{
		Name: "fn-v1-2-0123abcd", Namespace: "fns",
		Labels:      map[string]string{"app.kubernetes.io/name": "fn-v1-2-0123abcd", "krmfn.dev/pool": "0123abcd", "krmfn.dev/ordinal": "2"},
		Annotations: map[string]string{"note": "kept"},
	}
	if diff := cmp.Diff(want, service.ObjectMeta); diff != "" {
		t.Errorf("metadata of the Service (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"fn.kpt.dev/image": "fn-v1-2-0123abcd", "extra": "kept"}, service.Spec.Selector); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	c := pod.Spec.Containers[1]
	args := []string{"--verbosity=3", "--port", "9446", "--max-request-body-size", "1000", "--", "/fn", "--x"}
	if diff := cmp.Diff(args, c.Args); diff != "" || c.Image != "r.io/fn@sha256:1" || c.Resources.Limits.Memory().String() != "1Gi" {
		t.Errorf("container %+v, arguments (-want +got):\n%s", c, diff)
	}
	if diff := cmp.Diff(identity, c.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "mine"}, {Name: "auth-secret"}}, pod.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("pull secrets (-want +got):\n%s", diff)
	}
	if pod.Spec.Containers[0].Image != "proxy" || pod.Spec.Containers[0].Env != nil || pod.Spec.SecurityContext != nil {
		t.Errorf("pod spec = %+v, want the rest of the template unchanged", pod.Spec)
	}
	again, _ := build(t, template, function())
	if len(again.Spec.ImagePullSecrets) != 2 || again.Spec.Containers[1].Resources.Limits != nil {
		t.Error("building a pod has changed the template")
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cm   *corev1.ConfigMap
		want string
	}{
		"no pod": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, "function pod template with key template does not exist in ConfigMap x"},
		"no service": {
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string]string{"template": porchTemplate}},
			"function service template with key serviceTemplate does not exist in ConfigMap x",
		},
		"broken pod":     {configMap("a: [", porchService), "unable to decode function pod template: key template of ConfigMap templates: "},
		"broken service": {configMap(porchTemplate, "spec: 3"), "unable to decode function service template: "},
		"no function":    {configMap("spec: {containers: [{name: other}]}", porchService), `has no container with the name "function"`},
	} {
		if _, err := podtemplate.Parse(tc.cm, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Parse() = %v, want an error with %q", name, err, tc.want)
		}
	}
	template, err := podtemplate.Default("wrapper", injection.InitContainer)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := template.Build(&podtemplate.Values{Reference: "r.io/empty"}, "fns", "a", 1); err == nil ||
		!strings.Contains(err.Error(), "image r.io/empty has neither entrypoint nor command") {
		t.Errorf("Build() of an image without a command = %v, want an error", err)
	}
}

// Pods get flags only for settings that are not defaults, because Porch's wrapper server does not support the flags.
func TestProcesses(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Default("wrapper", injection.InitContainer)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		standby *int
		traits  traits.Traits
		want    []string
	}{
		"the default":   {traits: traits.Traits{Deterministic: true}},
		"more":          {standby: new(3), want: []string{"--standby-processes", "3"}},
		"none":          {standby: new(0), want: []string{"--standby-processes", "0"}},
		"none for this": {standby: new(3), traits: traits.Traits{NoStandby: true}, want: []string{"--standby-processes", "0"}},
		"a worker":      {traits: traits.Traits{Worker: true}, want: []string{"--worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function()
			f.StandbyProcesses, f.Traits = tc.standby, tc.traits
			pod, _ := build(t, template, f)
			want := slices.Concat([]string{"--port", "9446", "--max-request-body-size", "1000"}, tc.want, []string{"--", "/fn", "--x"})
			if diff := cmp.Diff(want, podtemplate.FunctionOf(pod).Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// The version depends only on the content of the template.
func TestVersion(t *testing.T) {
	t.Parallel()
	first, err := podtemplate.Parse(configMap(porchTemplate, porchService), nil)
	if err != nil {
		t.Fatal(err)
	}
	edited := configMap(porchTemplate+"\n# a comment\n", porchService)
	edited.ResourceVersion = "7"
	same, err := podtemplate.Parse(edited, nil)
	if err != nil || same.Version != first.Version {
		t.Errorf("Parse() with a comment: error %v or another version, want the same version", err)
	}
	other, err := podtemplate.Parse(configMap(porchTemplate, strings.Replace(porchService, "note: kept", "note: new", 1)), nil)
	if err != nil || other.Version == first.Version {
		t.Errorf("Parse() with another Service: error %v or the same version, want another version", err)
	}
	initContainer, err1 := podtemplate.Default("a", injection.InitContainer)
	imageVolume, err2 := podtemplate.Default("a", injection.ImageVolume)
	newer, err3 := podtemplate.Default("b", injection.ImageVolume)
	if err1 != nil || err2 != nil || err3 != nil || initContainer.Version == imageVolume.Version || imageVolume.Version == newer.Version {
		t.Errorf("versions of %v, %v and %v are not all different", initContainer, imageVolume, newer)
	}
}

// The version for a function depends on its settings, but not on its image.
func TestVersionFor(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Parse(configMap(porchTemplate, porchService), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := template.VersionFor(function())
	for name, tc := range map[string]struct {
		change func(f *podtemplate.Values)
		same   bool
	}{
		"another image": {change: func(f *podtemplate.Values) { f.Image, f.Reference = "r.io/b@sha256:2", "r.io/b" }, same: true},
		"another limit": {change: func(f *podtemplate.Values) { f.MaxMessageSize++ }},
		"more at once":  {change: func(f *podtemplate.Values) { f.MaxConcurrent = 3 }},
		"other resources": {change: func(f *podtemplate.Values) {
			f.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		}},
		"other overrides": {change: func(f *podtemplate.Values) { f.Overrides = &functionconfig.Overrides{ServiceAccountName: "a"} }},
		"other standby":   {change: func(f *podtemplate.Values) { f.StandbyProcesses = new(2) }},
		"an annotation":   {change: func(f *podtemplate.Values) { f.Declared = map[string]string{traits.WorkerLabel: "false"} }},
		// The labels of a digest never change, and are unknown before the image was resolved.
		"other labels":   {change: func(f *podtemplate.Values) { f.Traits = traits.Traits{Worker: true} }, same: true},
		"no pull secret": {change: func(f *podtemplate.Values) { f.PullSecrets = nil }},
	} {
		f := function()
		tc.change(f)
		if got := template.VersionFor(f); (got == want) != tc.same {
			t.Errorf("%s: VersionFor() = %s, base version %s, want the same: %v", name, got, want, tc.same)
		}
	}
}
