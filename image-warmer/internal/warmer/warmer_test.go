// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package warmer_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/internal/warmer"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRegistry returns the host of a registry with a:v1 and b:v1, and their common digest.
func newRegistry(t *testing.T) (host, digest string) {
	t.Helper()
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	host = strings.TrimPrefix(server.URL, "http://")
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Entrypoint: []string{"/fn"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, repository := range []string{"/a:v1", "/b:v1"} {
		tag, err := name.NewTag(host + repository)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(tag, image); err != nil {
			t.Fatal(err)
		}
	}
	hash, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return host, hash.String()
}

func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		NodeInfo:   corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

// newCluster returns a cluster with a kubelet that pulls all images except b.
func newCluster(t *testing.T, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset(objects...)
	var kubelets sync.WaitGroup
	t.Cleanup(kubelets.Wait)
	client.PrependReactor("create", "pods", func(action kubetesting.Action) (bool, runtime.Object, error) {
		pod := action.(kubetesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		image := pod.Spec.Containers[0].Image
		pod.Status.Phase = corev1.PodSucceeded
		if strings.Contains(image, "/b@") {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName", Message: "no"}},
			}}}
		}
		// The reactor must return before the status is updated, because the fake API server holds a lock.
		kubelets.Go(func() {
			if _, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		})
		return false, nil, nil
	})
	return client
}

// fakePods are the pods of client-go's fake API server, which does not support watch lists.
type fakePods struct{ typedcorev1.PodInterface }

func (fakePods) IsWatchListSemanticsUnSupported() bool { return true }

func config(t *testing.T, client *fake.Clientset, args ...string) warmer.Config {
	t.Helper()
	o, err := options.Parse(append(args, "--prepull", "--wrapper-image=w:v1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return warmer.Config{
		Options: o, OwnNamespace: "own", Cluster: &warmer.Cluster{
			Version: discovery.ToServerVersionInterfaceWithContext(client.Discovery()), Nodes: client.CoreV1().Nodes(),
			Pods: fakePods{client.CoreV1().Pods(o.Namespace)}, ConfigMaps: client.CoreV1().ConfigMaps("own"),
		},
		Run: "r1", Stdout: io.Discard, Log: slog.New(slog.DiscardHandler),
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	host, digest := newRegistry(t)
	cordoned, has := node("n2"), node("n3")
	cordoned.Spec.Unschedulable = true
	has.Status.Images = []corev1.ContainerImage{{Names: []string{host + "/a@" + digest}}}
	client := newCluster(t, node("n1"), cordoned, has)
	c := config(t, client, host+"/a:v1", host+"/b:v1", host+"/c:v1", "--dry-run")
	want := report.Report{
		DryRun: true,
		Images: []report.Image{
			{Image: host + "/a:v1", Digest: digest, Metadata: report.Resolved, Nodes: []report.Node{
				{Node: "n1", Result: report.Pulled}, {Node: "n2", Result: report.Skipped, Reason: "the node is cordoned"}, {Node: "n3", Result: report.Present},
			}},
			{Image: host + "/b:v1", Digest: digest, Metadata: report.Resolved, Nodes: []report.Node{
				{Node: "n1", Result: report.Pulled}, {Node: "n2", Result: report.Skipped, Reason: "the node is cordoned"}, {Node: "n3", Result: report.Pulled},
			}},
			{Image: host + "/c:v1", Metadata: report.Failed},
		},
		Metadata: &report.Metadata{Target: "ConfigMap own/krmfn-image-metadata", Action: "created"},
		Failures: []report.Failure{{Image: host + "/c:v1"}},
	}
	check(t, want, warmer.Run(t.Context(), c))
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" {
			t.Errorf("a dry run sent %s %s", verb, action.GetResource().Resource)
		}
	}

	c = config(t, client, host+"/a:v1", host+"/b:v1", host+"/c:v1", "--wrapper-injection=init-container")
	want.DryRun = false
	for _, n := range []int{0, 2} {
		want.Images[1].Nodes[n].Result, want.Images[1].Nodes[n].Reason = report.Failed, "InvalidImageName: no"
		want.Failures = append(want.Failures, report.Failure{Image: host + "/b:v1", Node: want.Images[1].Nodes[n].Node})
	}
	check(t, want, warmer.Run(t.Context(), c))
	left, err := client.CoreV1().Pods("porch-fn-system").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("error = %v, leftover pods = %d, want 0", err, len(left.Items))
	}
	published, err := client.CoreV1().ConfigMaps("own").Get(t.Context(), "krmfn-image-metadata", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if images, err := metadata.Parse([]byte(published.Data[metadata.Key])); err != nil || len(images) != 2 {
		t.Errorf("error = %v, published images = %+v", err, images)
	}
}

// check compares a report without durations, the order of pulls, and messages of libraries.
func check(t *testing.T, want report.Report, got *report.Report) {
	t.Helper()
	ignore := cmp.Options{
		cmpopts.IgnoreFields(report.Report{}, "Seconds"), cmpopts.IgnoreFields(report.Image{}, "Seconds"), cmpopts.IgnoreFields(report.Node{}, "Seconds"),
		cmpopts.IgnoreFields(report.Failure{}, "Reason"),
		cmpopts.SortSlices(func(a, b report.Failure) bool { return a.Image+a.Node < b.Image+b.Node }),
	}
	if diff := cmp.Diff(want, *got, ignore); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// If a registry does not answer, earlier metadata stays, and the image counts as failed.
func TestKept(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	client := newCluster(t)
	warmer.Run(t.Context(), config(t, client, host+"/a:v1", "127.0.0.1:1/x:v1"))
	text := "apiVersion: krmfn.dev/v1alpha1\nkind: ImageMetadata\nimages:\n- image: 127.0.0.1:1/x:v1\n  digest: sha256:" + strings.Repeat("1", 64) + "\n  command: [/x]\n"
	published, err := client.CoreV1().ConfigMaps("own").Get(t.Context(), "krmfn-image-metadata", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	published.Data[metadata.Key] = text
	if _, err := client.CoreV1().ConfigMaps("own").Update(t.Context(), published, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := warmer.Run(t.Context(), config(t, client, host+"/a:v1", "127.0.0.1:1/x:v1"))
	if got.Images[0].Metadata != report.Kept && got.Images[1].Metadata != report.Kept || len(got.Failures) != 1 || got.Metadata.Action != "updated" {
		t.Errorf("report = %+v", got)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "no node") {
		t.Errorf("Notes = %q", got.Notes)
	}
}

// Pods have the pull secret that the function runner maintains and those of --image-pull-secret.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	private := []string{"--enable-private-registries", "--registry-auth-secret-path=" + t.TempDir() + "/none"}
	mine, kept := corev1.LocalObjectReference{Name: "mine"}, corev1.LocalObjectReference{Name: "auth-secret"}
	for _, tc := range []struct {
		name string
		args []string
		want []corev1.LocalObjectReference
	}{
		{"none", nil, nil},
		{"named", []string{"--image-pull-secret=mine"}, []corev1.LocalObjectReference{mine}},
		{"private registries", private, []corev1.LocalObjectReference{kept}},
		{"both", append([]string{"--image-pull-secret=auth-secret", "--image-pull-secret=mine"}, private...), []corev1.LocalObjectReference{kept, mine}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client := newCluster(t, node("n1"))
			warmer.Run(t.Context(), config(t, client, append(tc.args, host+"/a:v1")...))
			var got [][]corev1.LocalObjectReference
			for _, action := range client.Actions() {
				if create, ok := action.(kubetesting.CreateAction); ok && action.Matches("create", "pods") {
					got = append(got, create.GetObject().(*corev1.Pod).Spec.ImagePullSecrets)
				}
			}
			if diff := cmp.Diff([][]corev1.LocalObjectReference{tc.want}, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

// Images that the policy refuses are neither looked up nor pulled.
func TestPolicy(t *testing.T) {
	t.Parallel()
	host, digest := newRegistry(t)
	c := config(t, newCluster(t, node("n1")), host+"/a:v1", "unknown.invalid/b:v1", "--prepull=false")
	var err error
	if c.Policy, err = policy.Parse([]byte("apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\nallow: [{prefix: \"" + host + "\"}]\n")); err != nil {
		t.Fatal(err)
	}
	got := warmer.Run(t.Context(), c)
	if len(got.Failures) != 1 || !strings.Contains(got.Failures[0].Reason, "not permitted") {
		t.Errorf("Failures = %+v", got.Failures)
	}
	if len(got.Images) != 2 || got.Images[0].Digest != digest {
		t.Errorf("Images = %+v", got.Images)
	}
}

// With Config.Nodes, only these nodes pull. Metrics record the run.
func TestNodes(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	c := config(t, newCluster(t, node("n1"), node("n2")), host+"/a:v1", host+"/b:v1")
	reader := sdkmetric.NewManualReader()
	var err error
	if c.Metrics, err = warmer.NewMetrics(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))); err != nil {
		t.Fatal(err)
	}
	c.Nodes = []string{"n2", "gone"}
	got := warmer.Run(t.Context(), c)
	if len(got.Images) != 2 || len(got.Images[0].Nodes) != 1 || got.Images[0].Nodes[0].Node != "n2" || len(got.Notes) > 0 {
		t.Errorf("report = %+v", got)
	}
	want := []string{"krm_warmer_pull_duration 1", "krm_warmer_pulls failed 1", "krm_warmer_pulls pulled 1", "krm_warmer_runs failed 1"}
	if diff := cmp.Diff(want, measured(t, reader)); diff != "" {
		t.Errorf("metrics of a run for some nodes (-want +got):\n%s", diff)
	}
	c.Nodes = nil
	warmer.Run(t.Context(), c)
	want = []string{
		"krm_warmer_images failed 0", "krm_warmer_images kept 0", "krm_warmer_images resolved 2",
		"krm_warmer_pull_duration 3", "krm_warmer_pulls failed 3", "krm_warmer_pulls pulled 3", "krm_warmer_runs failed 2",
	}
	if diff := cmp.Diff(want, measured(t, reader)); diff != "" {
		t.Errorf("metrics of a run for all nodes (-want +got):\n%s", diff)
	}
}

// measured returns the metrics by name and label.
func measured(t *testing.T, reader sdkmetric.Reader) []string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	var all []string
	add := func(name string, labels attribute.Set, value any) {
		if state := labels.ToSlice(); len(state) > 0 {
			name += " " + state[0].Value.AsString()
		}
		all = append(all, fmt.Sprintf("%s %v", name, value))
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				add(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				add(m.Name, p.Attributes, p.Count)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Lookups that are not done at the end of --timeout fail with a reason.
func TestTimeout(t *testing.T) {
	t.Parallel()
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hangs.Close)
	got := warmer.Run(t.Context(), config(t, newCluster(t, node("n1")), strings.TrimPrefix(hangs.URL, "http://")+"/a:v1", "--timeout=10ms"))
	if len(got.Failures) == 0 {
		t.Errorf("report = %+v", got)
	}
}
