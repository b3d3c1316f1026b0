// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/krmfn/krmfn/e2e/install"
)

// named returns an object of a rendering.
func named(t *testing.T, r *rendering, name string) *object {
	t.Helper()
	for _, o := range r.objects {
		if o.String() == name {
			return o
		}
	}
	t.Fatalf("%s is not there", name)
	return nil
}

func runnerPod(t *testing.T, r *rendering) corev1.PodTemplateSpec {
	t.Helper()
	return as[appsv1.Deployment](t, named(t, r, "Deployment "+install.Namespace+"/function-runner")).Spec.Template
}

func TestTimesFollowEachOther(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]int64{
		"{}": 35, "{drainTimeout: 10m}": 610, "{drainTimeout: 1500ms, shutdownDelay: 0s}": 7, "{terminationGracePeriodSeconds: 300}": 300,
	} {
		r := renderOnce(t, parseValues(t, values))
		if got := *runnerPod(t, r).Spec.TerminationGracePeriodSeconds; got != want {
			t.Errorf("%s: the grace period is %d s, want %d", values, got, want)
		}
		hook := as[batchv1.Job](t, named(t, r, "Job "+install.Namespace+"/pod-janitor-uninstall"))
		if got := *hook.Spec.ActiveDeadlineSeconds; got <= want {
			t.Errorf("%s: the hook has %d s, less than function runners may take", values, got)
		}
	}
}

// Hooks leave nothing behind, whether they succeed or fail; what a failed one has to say is printed first.
func TestHooksLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, "imageWarmer: {enabled: true, mode: CronJob, images: [a/b:v1]}"))
	hooks := 0
	for _, o := range r.objects {
		annotations := o.GetAnnotations()
		if kind := annotations[release.HookAnnotation]; kind == "" || kind == "test" {
			continue
		}
		hooks++
		if got, want := annotations[release.HookDeleteAnnotation], "before-hook-creation,hook-succeeded,hook-failed"; got != want {
			t.Errorf("%s is deleted by %q, want %q", o, got, want)
		}
		if got := annotations[release.HookOutputLogAnnotation]; o.GetKind() == "Job" && got != "hook-failed" {
			t.Errorf("%s says %q of its log, want that of a failure to be printed", o, got)
		}
	}
	if hooks < 5 {
		t.Errorf("there are %d hooks", hooks)
	}
}

// Jobs of the image warmer end by themselves, with a report, before Kubernetes ends them.
func TestImageWarmerHasADeadline(t *testing.T) {
	t.Parallel()
	const values = "imageWarmer: {enabled: true, images: [a/b:v1], timeout: 10m, jitter: 90s, mode: "
	r := renderOnce(t, parseValues(t, values+"CronJob}"))
	job := as[batchv1.CronJob](t, named(t, r, "CronJob "+install.Namespace+"/image-warmer")).Spec.JobTemplate.Spec
	if got := *job.ActiveDeadlineSeconds; got != 600+90+120 {
		t.Errorf("scheduled runs have %d s", got)
	}
	hook := as[batchv1.Job](t, named(t, r, "Job "+install.Namespace+"/image-warmer-at-install"))
	if got := *hook.Spec.ActiveDeadlineSeconds; got >= 300 {
		t.Errorf("the hook has %d s, more than Helm waits", got)
	}
	r = renderOnce(t, parseValues(t, values+"Deployment}"))
	if jobs := append(r.of("CronJob"), r.of("Job")...); len(jobs) != 2 { // the pod janitor's
		t.Errorf("beside the Deployment there are %v", jobs)
	}
	if text := named(t, r, "ClusterRole /krmfn-image-warmer-"+install.Namespace).manifest; !strings.Contains(text, "[list, watch]") {
		t.Errorf("nodes that join cannot be seen:\n%s", text)
	}
}

func TestContradictionsAreErrors(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"terminationGracePeriodSeconds: 30":                                    "terminationGracePeriodSeconds is 30, but shutdownDelay and drainTimeout take 30 seconds",
		"{terminationGracePeriodSeconds: 35, drainTimeout: 10m}":               "raise it above that, or set it to 0, which means 610",
		"autoscaling: {enabled: true, minReplicas: 6}":                         "autoscaling.minReplicas is 6, but autoscaling.maxReplicas is 5",
		"podJanitor: {grace: 1m}":                                              "podJanitor.grace is 1m, but must exceed pods.scanInterval, which is 1m",
		"{imageWarmer: {enabled: true, images: [a], prepull: {timeout: 90m}}}": "podJanitor.warmerTTL is 1h, but must exceed imageWarmer.prepull.timeout, which is 90m",
		"functionNamespace: {name: porch-system}":                              "functionNamespace.name is porch-system, the release's own namespace",
		"serviceAccount: {create: false}":                                      "serviceAccount.create is false, but serviceAccount.name is empty",
		"{serviceAccount: {name: a}, podJanitor: {serviceAccount: {name: a}}}": "two components have the same one",
		"images: {metadata: pod-cache-config}":                                 "must be names that nothing else has",
		"monitoring: {prometheusRule: {enabled: true}}":                        "needs monitoring.serviceMonitor.enabled",
		"image: {tags: null}":                                                  "'tags'",
		"image: {digests: {krmfn: v1}}":                                        "'/image/digests/krmfn'",
		"pods: {ttl: null}":                                                    "'ttl'",
		"podLabels: {a: b c}":                                                  "'/podLabels/a'",
		"extraVolumes: [{emptyDir: {}}]":                                       "'name'",
		"image: {overrides: {krmfn: {digest: sha256:1}}}":                      "'/image/overrides/krmfn/digest'",
	} {
		if _, err := renderChart(t, parseValues(t, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", values, err, want)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	one, another := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	for values, want := range map[string]string{
		"{}": "ghcr.io/krmfn/function-runner:dev",
		"global: {imageRegistry: mirror.example.org}":                                                                   "mirror.example.org/krmfn/function-runner:dev",
		"{global: {imageRegistry: r.io/proxy}, image: {registry: krmfn, tag: v2}}":                                      "r.io/proxy/krmfn/function-runner:v2",
		"{global: {imageRegistry: r.io}, image: {registry: localhost/krmfn}}":                                           "r.io/krmfn/function-runner:dev",
		"image: {tags: {function-runner: v3@" + one + "}, tag: v2}":                                                     "ghcr.io/krmfn/function-runner:v3@" + one,
		"image: {tags: {function-runner: v3@" + one + "}, overrides: {function-runner: {digest: " + another + "}}}":     "ghcr.io/krmfn/function-runner:v3@" + another,
		"image: {digests: {function-runner: dev@" + one + "}}":                                                          "ghcr.io/krmfn/function-runner:dev@" + one,
		"image: {digests: {function-runner: ''}}":                                                                       "ghcr.io/krmfn/function-runner:dev",
		"image: {digests: {function-runner: dev@" + one + "}, tag: v2}":                                                 "ghcr.io/krmfn/function-runner:v2",
		"image: {digests: {function-runner: dev@" + one + "}, overrides: {function-runner: {digest: " + another + "}}}": "ghcr.io/krmfn/function-runner:dev@" + another,
		"image: {overrides: {function-runner: {repository: 'a:5000/b/c', tag: v4}}}":                                    "a:5000/b/c:v4",
		"{global: {imageRegistry: r.io}, image: {overrides: {function-runner: {repository: 'a:5000/b/c'}}}}":            "r.io/b/c:dev",
	} {
		if got := runnerPod(t, renderOnce(t, parseValues(t, values))).Spec.Containers[0].Image; got != want {
			t.Errorf("%s: image is %s, want %s", values, got, want)
		}
	}
}

func TestPullSecretsReachTheFunctionNamespace(t *testing.T) {
	t.Parallel()
	pod := runnerPod(t, renderOnce(t, parseValues(t, variants["pull secrets"]))).Spec
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}, {Name: "c"}}, pod.ImagePullSecrets); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"a", "b", "c"} {
		if !slices.Contains(pod.Containers[0].Command, "--image-pull-secret="+name) {
			t.Errorf("function pods do not get %s: %q", name, pod.Containers[0].Command)
		}
	}
}

// The chart's labels and annotations win, and the user's variables, volumes and mounts; each is there once.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, variants["overlaps"]))
	pod := runnerPod(t, r)
	for label, want := range map[string]string{"app": "function-runner", "app.kubernetes.io/name": "krmfn", "tier": "b", "team": "c"} {
		if pod.Labels[label] != want {
			t.Errorf("label %s is %q, want %q", label, pod.Labels[label], want)
		}
	}
	if pod.Annotations["krmfn.dev/pod-cache-config"] == "x" {
		t.Error("an annotation of the chart's own is overwritten")
	}
	env := map[string]string{}
	for _, variable := range pod.Spec.Containers[0].Env {
		if _, twice := env[variable.Name]; twice {
			t.Errorf("variable %s is there twice", variable.Name)
		}
		env[variable.Name] = variable.Value
	}
	if env["A"] != "b" || env["WRAPPER_SERVER_IMAGE"] != "ghcr.io/krmfn/wrapper-server:dev" {
		t.Errorf("variables are %v", env)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "tmp" && v.EmptyDir.SizeLimit.String() != "9Gi" {
			t.Errorf("the volume tmp is %v", v)
		}
	}
	if got := as[corev1.Service](t, named(t, r, "Service "+install.Namespace+"/function-runner")).Labels; got["team"] != "a" || got["app"] != "function-runner" {
		t.Errorf("labels of the Service are %v", got)
	}
}

// Certificates of private registries need no credentials.
func TestAuthorityAlone(t *testing.T) {
	t.Parallel()
	command := runnerPod(t, renderOnce(t, parseValues(t, variants["authority alone"]))).Spec.Containers[0].Command
	if !slices.Contains(command, "--enable-private-registries-tls=true") || slices.Contains(command, "--enable-private-registries=true") {
		t.Errorf("the command is %q", command)
	}
}

func TestNothingIsGrantedThatIsOff(t *testing.T) {
	t.Parallel()
	off := renderOnce(t, parseValues(t, variants["no objects of Porch's"]))
	if text := named(t, off, "Role "+install.FunctionNamespace+"/porch-function-executor").manifest; strings.Contains(text, "functionconfigs") || strings.Contains(text, "services") {
		t.Errorf("the function runner may do what is off:\n%s", text)
	}
	looks := renderOnce(t, parseValues(t, variants["janitor looks"]))
	if text := named(t, looks, "Role "+install.FunctionNamespace+"/pod-janitor").manifest; strings.Contains(text, "delete") {
		t.Errorf("a pod janitor that deletes nothing may:\n%s", text)
	}
}

// OpenShift is known by its API.
func TestOpenShift(t *testing.T) {
	t.Parallel()
	parsed := loadChart(t)
	for want, versions := range map[string]chartutil.VersionSet{"nobody": nil, "assigned": {"security.openshift.io/v1"}} {
		values, err := chartutil.ToRenderValuesWithSchemaValidation(parsed, nil, chartutil.ReleaseOptions{Name: "a", Namespace: "b"},
			&chartutil.Capabilities{APIVersions: versions}, true)
		if err != nil {
			t.Fatal(err)
		}
		files, err := engine.Render(parsed, values)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(files["krmfn/templates/function-runner/deployment.yaml"], "--pod-user="+want) {
			t.Errorf("with the API versions %v, the user of pods is not %s", versions, want)
		}
	}
}

// cluster is one that has some objects.
type cluster struct{ dynamic.Interface }

func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	group, err := schema.ParseGroupVersion(apiVersion)
	return c.Resource(group.WithResource(strings.ToLower(kind) + "s")), true, err
}

// Function pods would be left behind in the namespace that they had.
func TestFunctionNamespaceIsNotRenamed(t *testing.T) {
	t.Parallel()
	parsed := loadChart(t)
	deployment := &unstructured.Unstructured{Object: named(t, renderOnce(t, nil), "Deployment "+install.Namespace+"/function-runner").Object}
	there := cluster{fake.NewSimpleDynamicClient(runtime.NewScheme(), deployment.DeepCopy())}
	for name, refused := range map[string]bool{install.FunctionNamespace: false, "another": true} {
		values, err := chartutil.ToRenderValuesWithSchemaValidation(parsed, parseValues(t, "functionNamespace: {name: "+name+"}"),
			chartutil.ReleaseOptions{Name: install.ReleaseName, Namespace: install.Namespace, IsUpgrade: true}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		_, err = engine.RenderWithClientProvider(parsed, values, there)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "function pods in "+install.FunctionNamespace) {
			t.Errorf("%s: got error %v, want one: %t", name, err, refused)
		}
	}
}

// What the chart keeps is what Porch's manifests have, and Porch's function runner is not stopped.
func TestGoingBack(t *testing.T) {
	t.Parallel()
	kept := []string{}
	r := renderOnce(t, parseValues(t, variants["going back"]))
	for _, o := range r.objects {
		if o.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
			kept = append(kept, o.String())
		}
	}
	slices.Sort(kept)
	want := []string{
		"ConfigMap porch-system/kpt-function-eval-pod-template", "ConfigMap porch-system/pod-cache-config", "Deployment porch-system/function-runner",
		"Namespace /porch-fn-system", "Role porch-fn-system/porch-function-executor", "Role porch-system/porch-fn-runner",
		"RoleBinding porch-fn-system/porch-function-executor", "RoleBinding porch-system/porch-fn-runner",
		"Service porch-system/function-runner", "ServiceAccount porch-system/porch-fn-runner",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
	if text := named(t, r, "Job "+install.Namespace+"/pod-janitor-uninstall").manifest; strings.Contains(text, "--stop-deployment") || !strings.Contains(text, "--registry-auth-secret-name=") {
		t.Errorf("the hook touches what is Porch's:\n%s", text)
	}
}

// The common cases in ci/ are clean, and their function runners start.
func TestCommonCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(chartDir(t), "ci", "*-values.yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			values := parseValues(t, string(text))
			lint := action.NewLint()
			lint.Strict, lint.Namespace = true, install.Namespace
			if result := lint.Run([]string{chartDir(t)}, values); len(result.Errors) > 0 {
				t.Error(result.Errors)
			}
			for _, w := range workloads(t, renderOnce(t, values)) {
				args, environ := commandLine(w.spec.Containers[0])
				if of, known := components[w.spec.Containers[0].Name]; known && of.parse(args, environ) != nil {
					t.Errorf("%s does not start with %q: %v", w, args, of.parse(args, environ))
				}
			}
		})
	}
}
