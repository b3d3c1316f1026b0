// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/internal/cluster/client"
)

type pods = client.Objects[*corev1.Pod, *corev1.PodList]

// serve returns a cluster whose API server always sends the same response, and the requests that it receives.
func serve(t *testing.T, code int, answer string) (*client.Cluster, <-chan *http.Request) {
	t.Helper()
	requests := make(chan *http.Request, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: 30, Burst: 45}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	cluster, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, requests
}

func podsOf(c *client.Cluster) *pods {
	return client.Of(c, corev1.SchemeGroupVersion, "pods", "fns", &corev1.Pod{}, &corev1.PodList{})
}

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"},"spec":{"nodeName":"n"}}`

func TestObjects(t *testing.T) {
	t.Parallel()
	// Each request gets its own object, because encoding sets its kind.
	named := func() *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}} }
	for name, tc := range map[string]struct {
		call   func(context.Context, *pods) (any, error)
		answer string
		// request is the expected method and URL.
		request string
		want    any
	}{
		"get": {
			call:    func(ctx context.Context, p *pods) (any, error) { return p.Get(ctx, "a", metav1.GetOptions{}) },
			request: "GET /api/v1/namespaces/fns/pods/a", answer: pod,
		},
		"create": {
			call: func(ctx context.Context, p *pods) (any, error) {
				return p.Create(ctx, named(), metav1.CreateOptions{FieldManager: "m"})
			},
			request: "POST /api/v1/namespaces/fns/pods?fieldManager=m", answer: pod,
		},
		"update": {
			call:    func(ctx context.Context, p *pods) (any, error) { return p.Update(ctx, named(), metav1.UpdateOptions{}) },
			request: "PUT /api/v1/namespaces/fns/pods/a", answer: pod,
		},
		"patch": {
			call: func(ctx context.Context, p *pods) (any, error) {
				return p.Patch(ctx, "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			},
			request: "PATCH /api/v1/namespaces/fns/pods/a", answer: pod,
		},
		"patch a subresource of another kind": {
			call: func(ctx context.Context, p *pods) (any, error) {
				return p.Patch(ctx, "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "scale")
			},
			request: "PATCH /api/v1/namespaces/fns/pods/a/scale", answer: `{"apiVersion":"autoscaling/v1","kind":"Scale"}`, want: &corev1.Pod{},
		},
		"delete": {
			call: func(ctx context.Context, p *pods) (any, error) {
				return nil, p.Delete(ctx, "a", metav1.DeleteOptions{})
			},
			request: "DELETE /api/v1/namespaces/fns/pods/a", answer: `{"apiVersion":"v1","kind":"Status","status":"Success"}`, want: nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.answer == pod {
				tc.want = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}}
			}
			cluster, requests := serve(t, http.StatusOK, tc.answer)
			got, err := tc.call(t.Context(), podsOf(cluster))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			r := <-requests
			if got := r.Method + " " + r.URL.String(); got != tc.request {
				t.Errorf("request = %s, want %s", got, tc.request)
			}
		})
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	cluster, requests := serve(t, http.StatusOK, `{"apiVersion":"v1","kind":"PodList","metadata":{"continue":"c"},"items":[{"metadata":{"name":"a"}}]}`)
	list, err := podsOf(cluster).List(t.Context(), metav1.ListOptions{LabelSelector: "l", Limit: 1})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "a" || list.Continue != "c" {
		t.Errorf("List() = %v, %v", list, err)
	}
	r := <-requests
	if got, want := r.URL.RawQuery, "labelSelector=l&limit=1"; got != want {
		t.Errorf("query = %s, want %s", got, want)
	}
	if got, want := r.Header.Get("Accept"), "application/vnd.kubernetes.protobuf,application/json"; got != want {
		t.Errorf("Accept = %s, want %s", got, want)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	cluster, requests := serve(t, http.StatusOK, `{"type":"MODIFIED","object":`+pod+`}`)
	w, err := podsOf(cluster).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	if got, ok := event.Object.(*corev1.Pod); !ok || event.Type != watch.Modified || got.Name != "a" {
		t.Errorf("event = %v", event)
	}
	if got, want := (<-requests).URL.RawQuery, "resourceVersion=7&watch=true"; got != want {
		t.Errorf("query = %s, want %s", got, want)
	}
}

func TestErrorIsStatus(t *testing.T) {
	t.Parallel()
	cluster, _ := serve(t, http.StatusConflict, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"AlreadyExists","code":409}`)
	_, err := podsOf(cluster).Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("Create() = %v, want AlreadyExists", err)
	}
}

func TestServerVersion(t *testing.T) {
	t.Parallel()
	cluster, requests := serve(t, http.StatusOK, `{"gitVersion":"v1.36.0"}`)
	got, err := cluster.ServerVersionWithContext(t.Context())
	if err != nil || got.GitVersion != "v1.36.0" {
		t.Errorf("ServerVersionWithContext() = %v, %v", got, err)
	}
	if r := <-requests; r.URL.Path != "/version" {
		t.Errorf("path = %s, want /version", r.URL.Path)
	}
}

func TestClusterDecodesResources(t *testing.T) {
	t.Parallel()
	cluster, _ := serve(t, http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"pods"}]}`)
	var resources metav1.APIResourceList
	if err := cluster.Get().AbsPath("/api/v1").Do(t.Context()).Into(&resources); err != nil || len(resources.APIResources) != 1 {
		t.Errorf("resources = %v, %v", resources, err)
	}
}
