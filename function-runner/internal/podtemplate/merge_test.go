// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

const wrapperImage = "r.io/krmfn/wrapper-server:v1"

func builtIn(t *testing.T, method injection.Method) *podtemplate.Template {
	t.Helper()
	template, err := podtemplate.Default(wrapperImage, method, corev1.EnvVar{Name: "OTEL_TRACES_EXPORTER", Value: "otlp"})
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// podOnly returns a ConfigMap with a pod template, and without a Service template.
func podOnly(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{Data: map[string]string{"template": text}}
}

// unordered ignores the order of named elements.
var unordered = gocmp.Options{
	cmpopts.SortSlices(func(a, b corev1.Container) int { return cmp.Compare(a.Name, b.Name) }),
	cmpopts.SortSlices(func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) }),
	cmpopts.SortSlices(func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) }),
	cmpopts.SortSlices(func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) }),
	cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == functionpod.TemplateAnnotation }),
	cmpopts.EquateEmpty(),
}

// A template without its own wrapper server is merged into the built-in one.
func TestMergedTemplates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// container has the fields of the container function, spec has the fields of the pod's spec, and rest has other fields of the
		// pod.
		container, spec, rest string
		change                func(pod *corev1.Pod, function *corev1.Container)
	}{
		"nothing": {change: func(*corev1.Pod, *corev1.Container) {}},
		"metadata": {rest: "metadata: {name: fixed, labels: {team: a}}", change: func(pod *corev1.Pod, _ *corev1.Container) {
			pod.Labels["team"] = "a"
		}},
		"scheduling": {spec: "nodeSelector: {pool: functions}, runtimeClassName: gvisor", change: func(pod *corev1.Pod, _ *corev1.Container) {
			pod.Spec.NodeSelector, pod.Spec.RuntimeClassName = map[string]string{"pool": "functions"}, new("gvisor")
		}},
		"resources": {container: "resources: {limits: {memory: 3Gi}}", change: func(_ *corev1.Pod, function *corev1.Container) {
			function.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("3Gi")
		}},
		"variables": {
			container: "env: [{name: OTEL_TRACES_EXPORTER, valueFrom: {configMapKeyRef: {name: c, key: k}}}, {name: A, value: b}]",
			change: func(_ *corev1.Pod, function *corev1.Container) {
				function.Env = slices.DeleteFunc(function.Env, func(v corev1.EnvVar) bool { return v.Name == "OTEL_TRACES_EXPORTER" })
				from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k"}}
				function.Env = append(function.Env, corev1.EnvVar{Name: "OTEL_TRACES_EXPORTER", ValueFrom: from}, corev1.EnvVar{Name: "A", Value: "b"})
			},
		},
		"volumes": {
			container: "volumeMounts: [{name: data, mountPath: /data}]", spec: "volumes: [{name: data, emptyDir: {}}, {name: tmp, hostPath: {path: /fast}}]",
			change: func(pod *corev1.Pod, function *corev1.Container) {
				function.VolumeMounts = append(function.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
				for i, v := range pod.Spec.Volumes {
					if v.Name == "tmp" {
						pod.Spec.Volumes[i].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/fast"}}
					}
				}
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
			},
		},
		"probes": {
			container: "readinessProbe: {exec: {command: [a]}}, livenessProbe: {tcpSocket: {port: 9446}}",
			change: func(_ *corev1.Pod, function *corev1.Container) {
				function.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"a"}}}}
				function.LivenessProbe = &corev1.Probe{}
				function.LivenessProbe.TCPSocket = &corev1.TCPSocketAction{}
				function.LivenessProbe.TCPSocket.Port.IntVal = 9446
			},
		},
		"flags of the wrapper server": {container: "args: [--verbosity=3]", change: func(_ *corev1.Pod, function *corev1.Container) {
			function.Args = append([]string{"--verbosity=3"}, function.Args...)
		}},
		"what the wrapper server takes, removed": {
			container: "command: [], volumeMounts: null", spec: "volumes: null, initContainers: null",
			change: func(pod *corev1.Pod, function *corev1.Container) {
				function.VolumeMounts = slices.DeleteFunc(function.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "tmp" })
				pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "tmp" })
			},
		},
		"its command, removed": {container: "command: null", change: func(*corev1.Pod, *corev1.Container) {}},
		"other containers": {spec: "initContainers: [{name: a, image: i}]", change: func(pod *corev1.Pod, _ *corev1.Container) {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "a", Image: "i"})
		}},
	} {
		for _, method := range []injection.Method{injection.ImageVolume, injection.InitContainer} {
			t.Run(fmt.Sprint(name, ", ", method), func(t *testing.T) {
				t.Parallel()
				below := builtIn(t, method)
				text := fmt.Sprintf("{apiVersion: v1, kind: Pod, %s, spec: {%s, containers: [{name: function, %s}]}}",
					cmp.Or(tc.rest, "metadata: {}"), cmp.Or(tc.spec, "priority: null"), cmp.Or(tc.container, "image: placeholder"))
				template, err := podtemplate.Parse(podOnly(text), below)
				if err != nil {
					t.Fatal(err)
				}
				got, service := build(t, template, function())
				want, wantService := build(t, below, function())
				tc.change(want, podtemplate.FunctionOf(want))
				if diff := gocmp.Diff(want, got, unordered); diff != "" {
					t.Errorf("pod (-want +got):\n%s", diff)
				}
				if diff := gocmp.Diff(wantService, service); diff != "" {
					t.Errorf("Service (-want +got):\n%s", diff)
				}
				if init := got.Spec.InitContainers; method == injection.InitContainer && (len(init) == 0 || init[0].Image != wrapperImage) {
					t.Errorf("init containers = %v, want the wrapper server's first", init)
				}
			})
		}
	}
}

// The image's user runs the function, unless the template sets a user.
func TestUserOfMergedTemplates(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]int64{
		"containers: [{name: function}]":                                                   1234,
		"securityContext: {fsGroup: 5}, containers: [{name: function}]":                    1234,
		"securityContext: {runAsUser: 7}, containers: [{name: function}]":                  7,
		"containers: [{name: function, securityContext: {runAsUser: 7}}]":                  65534,
		"securityContext: {runAsUser: null}, containers: [{name: function, tty: false}]":   1234,
		"securityContext: {runAsUser: 7}, containers: [{name: sidecar}, {name: function}]": 7,
	} {
		template, err := podtemplate.Parse(podOnly("spec: {"+spec+"}"), builtIn(t, injection.ImageVolume))
		if err != nil {
			t.Fatal(err)
		}
		f := function()
		f.User = "1234"
		pod, _ := build(t, template, f)
		if got := pod.Spec.SecurityContext.RunAsUser; got == nil || *got != want {
			t.Errorf("%s: user = %v, want %d", spec, got, want)
		}
	}
}

// A template cannot use the names and paths of the wrapper server, and unknown fields are errors.
func TestTemplatesThatCannotBeMerged(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"initContainers: [{name: copy-wrapper-server, image: i}], containers: [{name: function}]":       "has the init container copy-wrapper-server",
		"volumes: [{name: wrapper-server-tools, emptyDir: {}}], containers: [{name: function}]":         "has the volume wrapper-server-tools",
		"containers: [{name: function, volumeMounts: [{name: wrapper-server-tools, mountPath: /x}]}]":   "mounts wrapper-server-tools at /x",
		"containers: [{name: function, volumeMounts: [{name: a, mountPath: /wrapper-server-tools}]}]":   "mounts a at /wrapper-server-tools",
		"containers: [{name: function, volumeMounts: [{name: a, mountPath: /wrapper-server-tools/b}]}]": "mounts a at /wrapper-server-tools/b",
		"containers: [{name: function, volumeMount: []}]":                                               `unknown field "volumeMount"`,
		"containers: [{name: function, $patch: delete}]":                                                `unknown field "$patch"`,
		"containers: [{name: function}], volumes: [a]":                                                  "cannot unmarshal string",
		"containers: [{name: function, env: [{value: a}]}]":                                             "merge into the built-in template",
		"containers: [{name: main}]":                                                                    `no container with the name "function"`,
	} {
		_, err := podtemplate.Parse(podOnly("spec: {"+spec+"}"), builtIn(t, injection.InitContainer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", spec, err, want)
		}
	}
}
