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

// named returns the object with the given name. It fails the test if a rendering does not contain it.
func named(t *testing.T, r *rendering, name string) *object {
	t.Helper()
	for _, o := range r.objects {
		if o.String() == name {
			return o
		}
	}
	t.Fatalf("the rendering does not contain %s", name)
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
			t.Errorf("%s: terminationGracePeriodSeconds = %d, want %d", values, got, want)
		}
		hook := as[batchv1.Job](t, named(t, r, "Job "+install.Namespace+"/pod-janitor-uninstall"))
		if got := *hook.Spec.ActiveDeadlineSeconds; got <= want {
			t.Errorf("%s: activeDeadlineSeconds of the uninstall hook = %d, want more than the grace period of function runners, %d", values, got, want)
		}
	}
}

// Helm deletes hooks after success and after failure, and prints the logs of failed Jobs first.
func TestHooksLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, "imageWarmer: {enabled: true, images: [a/b:v1]}"))
	hooks := 0
	for _, o := range r.objects {
		annotations := o.GetAnnotations()
		if kind := annotations[release.HookAnnotation]; kind == "" || kind == "test" {
			continue
		}
		hooks++
		if got, want := annotations[release.HookDeleteAnnotation], "before-hook-creation,hook-succeeded,hook-failed"; got != want {
			t.Errorf("%s: delete policy = %q, want %q", o, got, want)
		}
		if got := annotations[release.HookOutputLogAnnotation]; o.GetKind() == "Job" && got != "hook-failed" {
			t.Errorf("%s: output log policy = %q, want hook-failed", o, got)
		}
	}
	if hooks < 5 {
		t.Errorf("got %d hooks, want at least 5", hooks)
	}
}

func TestImageWarmerWatchesNodes(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, "imageWarmer: {enabled: true, images: [a/b:v1]}"))
	if text := named(t, r, "ClusterRole /krmfn-image-warmer-"+install.Namespace).manifest; !strings.Contains(text, "[list, watch]") {
		t.Errorf("the image warmer cannot watch for new nodes:\n%s", text)
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
		"{pods: {imageForm: reference}, images: {policy: {allow: [{prefix: a}, {digest: \"sha256:" + strings.Repeat("1", 64) + "\"}]}}}": "pods.imageForm is reference, which lets nodes resolve tags and bypasses images.policy.allow[1].digest",
		"{pods: {imageForm: reference}, images: {policy: {signatures: [{keys: [{data: a}]}]}}}":                                          "bypasses images.policy.signatures: set pods.imageForm to digest",
		"functionNamespace: {name: porch-system}":                                               "functionNamespace.name is porch-system, the release's own namespace",
		"serviceAccount: {create: false}":                                                       "serviceAccount.create is false, but serviceAccount.name is empty",
		"{serviceAccount: {name: a}, podJanitor: {serviceAccount: {name: a}}}":                  "two components have the same one",
		"images: {metadata: pod-cache-config}":                                                  "must be names that nothing else has",
		"monitoring: {prometheusRule: {enabled: true}}":                                         "needs monitoring.serviceMonitor.enabled",
		"image: {digests: {krmfn: v1}}":                                                         "'/image/digests/krmfn'",
		"pods: {ttl: 0s}":                                                                       "'/pods/ttl'",
		"{imageWarmer: {enabled: true, images: [a], interval: 59.9s}}":                          "imageWarmer.interval is 59.9s, but must be at least 1m",
		"functions: [{name: a, minWarmPods: 3}]":                                                "functions[0].minWarmPods is 3, but pods.maxParallelPodsPerFunction is 2",
		"functions: [{name: a, minWarmPods: 3, maxParallelPodsPerFunction: 1}]":                 "functions[0].minWarmPods is 3, but functions[0].maxParallelPodsPerFunction is 1",
		"functions: [{name: b}, {name: a}, {name: a}]":                                          "functions[1].name and functions[2].name are both a",
		"functions: [{name: a, resources: {requests: {memory: 1Gi}, limits: {memory: 1000M}}}]": "functions[0].resources.requests.memory is 1Gi, but functions[0].resources.limits.memory is 1000M",
		"resources: {limits: {cpu: 100m}}":                                                      "resources.requests.cpu is 200m, but resources.limits.cpu is 100m",
		"podJanitor: {resources: {limits: {memory: 16Mi}}}":                                     "podJanitor.resources.requests.memory is 32Mi, but podJanitor.resources.limits.memory is 16Mi",
		"strategy: {rollingUpdate: {maxSurge: 0%}}":                                             "strategy.rollingUpdate.maxUnavailable is 0 and strategy.rollingUpdate.maxSurge is 0%",
		"extraVolumeMounts: [{name: a, mountPath: /a}]":                                         "extraVolumeMounts[0].name is a, but the pod's volumes are [pod-cache-config, image-metadata, tmp]",
		"functionNamespace: {resourceQuota: {pods: 0}}":                                         "'/functionNamespace/resourceQuota/pods'",
		"podJanitor: {schedule: ''}":                                                            "'/podJanitor/schedule'",
		"podJanitor: {schedule: a b c d e}":                                                     "'/podJanitor/schedule'",
		"images: {rewrites: {a: ''}}":                                                           "'/images/rewrites/a'",
		"resources: {requests: {cpu: ''}}":                                                      "'/resources/requests/cpu'",
		"nodeSelector: {a: '1: 2'}":                                                             "'/nodeSelector/a'",
		"priorityClassName: a..b":                                                               "'/priorityClassName'",
		"podDisruptionBudget: {maxUnavailable: 101%}":                                           "'/podDisruptionBudget/maxUnavailable'",
		"podSecurityContext: {runAsNonRoot: 'true'}":                                            "'/podSecurityContext/runAsNonRoot'",
		"podLabels: {a: b c}":                                                                   "'/podLabels/a'",
		"extraVolumes: [{emptyDir: {}}]":                                                        "'name'",
		"image: {overrides: {krmfn: {digest: sha256:1}}}":                                       "'/image/overrides/krmfn/digest'",
	} {
		if _, err := renderChart(t, parseValues(t, values)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", values, err, want)
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
			t.Errorf("%s: image = %s, want %s", values, got, want)
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
			t.Errorf("the function runner's command has no --image-pull-secret=%s: %q", name, pod.Containers[0].Command)
		}
	}
}

// On conflicts, the chart's labels and annotations take precedence over the user's, and the user's variables, volumes and mounts take
// precedence over the chart's. The result has no duplicates.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	r := renderOnce(t, parseValues(t, variants["overlaps"]))
	pod := runnerPod(t, r)
	for label, want := range map[string]string{"app": "function-runner", "app.kubernetes.io/name": "krmfn", "tier": "b", "team": "c"} {
		if pod.Labels[label] != want {
			t.Errorf("label %s = %q, want %q", label, pod.Labels[label], want)
		}
	}
	if pod.Annotations["krmfn.dev/pod-cache-config"] == "x" {
		t.Error("podAnnotations overrides an annotation of the chart")
	}
	env := map[string]string{}
	for _, variable := range pod.Spec.Containers[0].Env {
		if _, twice := env[variable.Name]; twice {
			t.Errorf("duplicate variable %s", variable.Name)
		}
		env[variable.Name] = variable.Value
	}
	if env["A"] != "b" || env["WRAPPER_SERVER_IMAGE"] != "ghcr.io/krmfn/wrapper-server:dev" {
		t.Errorf("variables = %v, want the last A and the user's WRAPPER_SERVER_IMAGE", env)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "tmp" && v.EmptyDir.SizeLimit.String() != "9Gi" {
			t.Errorf("volume tmp = %v, want the user's sizeLimit 9Gi", v)
		}
	}
	if got := as[corev1.Service](t, named(t, r, "Service "+install.Namespace+"/function-runner")).Labels; got["team"] != "a" || got["app"] != "function-runner" {
		t.Errorf("labels of the Service = %v, want team=a and the chart's app", got)
	}
}

// Private registries with a custom CA work without credentials.
func TestAuthorityAlone(t *testing.T) {
	t.Parallel()
	command := runnerPod(t, renderOnce(t, parseValues(t, variants["authority alone"]))).Spec.Containers[0].Command
	if !slices.Contains(command, "--enable-private-registries-tls=true") || slices.Contains(command, "--enable-private-registries=true") {
		t.Errorf("command = %q, want TLS for private registries without credentials", command)
	}
}

func TestNothingIsGrantedThatIsOff(t *testing.T) {
	t.Parallel()
	off := renderOnce(t, parseValues(t, variants["no objects of Porch's"]))
	if text := named(t, off, "Role "+install.FunctionNamespace+"/krmfn-function-runner").manifest; strings.Contains(text, "functionconfigs") || strings.Contains(text, "services") {
		t.Errorf("the function runner's Role grants access for disabled features:\n%s", text)
	}
	looks := renderOnce(t, parseValues(t, variants["janitor looks"]))
	if text := named(t, looks, "Role "+install.FunctionNamespace+"/pod-janitor").manifest; strings.Contains(text, "delete") {
		t.Errorf("the Role of a pod janitor in dry-run mode permits deletes:\n%s", text)
	}
}

// The chart detects OpenShift by its API group.
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
			t.Errorf("with API versions %v, the command lacks --pod-user=%s", versions, want)
		}
	}
}

// cluster implements Helm's client provider with a fake client.
type cluster struct{ dynamic.Interface }

func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	group, err := schema.ParseGroupVersion(apiVersion)
	return c.Resource(group.WithResource(strings.ToLower(kind) + "s")), true, err
}

// An upgrade that renamed the function namespace would leave function pods behind in the old namespace.
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
			t.Errorf("functionNamespace.name=%s: error = %v, want an error: %t", name, err, refused)
		}
	}
}

// The values files in ci/ pass lint, and all components accept the rendered flags.
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
					t.Errorf("%s: parsing the flags %q: %v", w, args, of.parse(args, environ))
				}
			}
		})
	}
}
