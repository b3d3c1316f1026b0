// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

func newCluster(objects ...metav1.Object) (*Janitor, *server) {
	server := newServer(objects...)
	return newJanitor(Config{
		Options: options.Options{Namespace: testNamespace, SecretName: "auth-secret", QPS: 5}, Client: server.Clients(), Metadata: server.Metadata,
		Self: Self{Name: "janitor-1", Namespace: "porch-system", UID: "u"},
	}), server
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{functionpod.PoolLabel: "p", functionpod.OrdinalLabel: "1"}}
}

func pods(n int) []metav1.Object {
	all := make([]metav1.Object, 0, n)
	for i := range n {
		all = append(all, &corev1.Pod{ObjectMeta: named(fmt.Sprintf("pod-%04d", i))})
	}
	return all
}

func words(requests []request) []string {
	all := make([]string, 0, len(requests))
	for _, r := range requests {
		all = append(all, r.String())
	}
	return all
}

// Services and the Secret are listed before the pods, and pods in pages.
func TestList(t *testing.T) {
	t.Parallel()
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auth-secret"}, Data: map[string][]byte{"k": []byte("v")}}
	c, server := newCluster(append(pods(1001), &corev1.Service{ObjectMeta: named("s")}, foreign, secret)...)
	objects, err := c.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, pod := range objects.Pods {
		seen[pod.Name] = true
	}
	if len(seen) != 1001 || len(objects.Services) != 1 || objects.Services[0].Name != "s" || objects.Secret == nil || objects.Secret.Name != "auth-secret" {
		t.Errorf("list() = %d pods, Services %v, Secret %v", len(seen), objects.Services, objects.Secret)
	}
	requests := server.Requests()
	want := []string{"get secrets auth-secret", "list services", "list pods", "continue pods", "continue pods"}
	if diff := cmp.Diff(want, words(requests)); diff != "" {
		t.Error(diff)
	}
	for _, r := range requests[1:] {
		// With a resource version, the API server may return an old list from its cache.
		if r.List.Limit != 500 || r.List.ResourceVersion != "" || (r.Resource == "services") != strings.Contains(r.List.LabelSelector, functionpod.PoolLabel) {
			t.Errorf("%v: %+v", r, r.List)
		}
	}
}

func TestListWithoutSecret(t *testing.T) {
	t.Parallel()
	c, server := newCluster()
	if objects, err := c.list(t.Context()); err != nil || objects.Secret != nil {
		t.Errorf("list() without a Secret = Secret %v, %v", objects.Secret, err)
	}
	server.Requests()
	c.Options.SecretName = ""
	if _, err := c.list(t.Context()); err != nil || words(server.Requests())[0] != "list services" {
		t.Errorf("list() without a name of the Secret = %v", err)
	}
}

// If a page has expired, everything is listed again. If that fails, the list fails.
func TestExpiredPages(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]string{1: "", 2: "the provided continue parameter is too old"} {
		c, server := newCluster(pods(1200)...)
		left := times
		server.Before(func(r request) error {
			if r.Resource != "pods" || len(r.List.Continue) == 0 && r.List.Limit > 0 || left == 0 {
				return nil
			}
			left--
			return apierrors.NewResourceExpired("the provided continue parameter is too old")
		})
		objects, err := c.list(t.Context())
		if want == "" && (err != nil || len(objects.Pods) != 1200) {
			t.Errorf("expired once: list() = %d pods, %v", len(objects.Pods), err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || objects.Pods != nil) {
			t.Errorf("expired twice: list() = %d pods, %v", len(objects.Pods), err)
		}
	}
}

func TestListErrorsNameTheObjects(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"get secrets auth-secret": "get Secret fns/auth-secret (--registry-auth-secret-name): ",
		"list services":           "list the Services of namespace fns: ",
		"list pods":               "list the pods of namespace fns: ",
		"continue pods":           "list the pods of namespace fns: ",
	} {
		for _, answer := range []error{
			apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", errors.New("no")), apierrors.NewInternalError(errors.New("broken")),
			errors.New("connection refused"),
		} {
			c, server := newCluster(append(pods(501), &corev1.Service{ObjectMeta: named("s")})...)
			server.Before(func(r request) error {
				if r.String() == asked {
					return answer
				}
				return nil
			})
			objects, err := c.list(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, answer) {
				t.Errorf("%s: list() = %v, want %s%v", asked, err, want, answer)
			}
			if objects.Pods != nil || objects.Services != nil || objects.Secret != nil {
				t.Errorf("%s: list() returned a part of the list", asked)
			}
		}
	}
}

// A list that exceeds the deadline returns no objects.
func TestListDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, server := newCluster(pods(1200)...)
		server.Before(func(request) error {
			time.Sleep(time.Minute)
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Second)
		defer cancel()
		if objects, err := c.list(ctx); !errors.Is(err, context.DeadlineExceeded) || objects.Pods != nil {
			t.Errorf("list() = %d pods, %v", len(objects.Pods), err)
		}
	})
}

func TestDelete(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "a", errors.New("no"))
	for _, kind := range []sweep.Kind{sweep.Pod, sweep.Service, sweep.Secret} {
		for name, tc := range map[string]struct {
			meanwhile func(*server, metav1.Object, *sweep.Decision)
			answer    error
			want      Action
			stays     bool
		}{
			"unchanged":        {want: Deleted},
			"used meanwhile":   {meanwhile: func(s *server, o metav1.Object, _ *sweep.Decision) { s.Put(o) }, want: Used, stays: true},
			"replaced":         {meanwhile: func(_ *server, _ metav1.Object, d *sweep.Decision) { d.UID = "uid-before" }, want: Used, stays: true},
			"gone":             {answer: apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "a"), want: Gone, stays: true},
			"forbidden":        {answer: forbidden, want: Failed, stays: true},
			"unreachable":      {answer: errors.New("connection refused"), want: Failed, stays: true},
			"too many at once": {answer: apierrors.NewTooManyRequests("later", 1), want: Failed, stays: true},
		} {
			object := map[sweep.Kind]metav1.Object{
				sweep.Pod: &corev1.Pod{ObjectMeta: named("a")}, sweep.Service: &corev1.Service{ObjectMeta: named("a")},
				sweep.Secret: &corev1.Secret{ObjectMeta: named("a")},
			}[kind]
			c, server := newCluster(object)
			d := sweep.Decision{Kind: kind, Name: "a", UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}
			if tc.meanwhile != nil {
				tc.meanwhile(server, object, &d)
			}
			server.Before(func(request) error { return tc.answer })
			got, err := c.delete(t.Context(), d)
			failed := tc.want == Failed
			if failed != (err != nil) || failed && !errors.Is(err, tc.answer) || got != tc.want {
				t.Errorf("%s %s: delete() = %v, %v", kind, name, got, err)
			}
			if stays := len(server.Names()) == 1; stays != tc.stays {
				t.Errorf("%s %s: remaining objects = %v", kind, name, server.Names())
			}
			options := server.Requests()[0].Delete
			if p := options.PropagationPolicy; p == nil || *p != metav1.DeletePropagationBackground || options.GracePeriodSeconds != nil {
				t.Errorf("%s %s: delete options = %+v", kind, name, options)
			}
		}
	}
	c, _ := newCluster()
	if _, err := c.delete(t.Context(), sweep.Decision{Kind: "Node", Name: "a"}); err == nil {
		t.Error("delete() of a Node succeeded, want an error")
	}
}

// QPS limits the rate of delete requests. The first request is not delayed.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := newCluster()
		begin := time.Now()
		var took []time.Duration
		for range 6 {
			if err := c.limiter.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(begin).Round(time.Millisecond))
		}
		const fifth = 200 * time.Millisecond
		if diff := cmp.Diff([]time.Duration{0, fifth, 2 * fifth, 3 * fifth, 4 * fifth, 5 * fifth}, took); diff != "" {
			t.Error(diff)
		}
		short, cancel := context.WithTimeout(t.Context(), fifth/2)
		defer cancel()
		if err := c.limiter.Wait(short); err == nil || time.Since(begin) > 5*fifth {
			t.Errorf("Wait() beyond the deadline = %v after %v", err, time.Since(begin))
		}
	})
}

// A deletion in flight continues after an interrupt, but not after its deadline.
func TestDetached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, tc := range []struct{ timeout, want time.Duration }{
			{time.Hour, requestTimeout}, {3 * time.Second, 3 * time.Second},
		} {
			parent, end := context.WithTimeout(cancelled, tc.timeout)
			ctx, cancel := detached(parent)
			end()
			begin := time.Now()
			<-ctx.Done()
			if took := time.Since(begin); took != tc.want {
				t.Errorf("detached context ended after %v, want %v", took, tc.want)
			}
			cancel()
		}
		ctx, end := detached(cancelled)
		defer end()
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != requestTimeout || ctx.Err() != nil {
			t.Errorf("detached context of a context without deadline: deadline %v, error %v", deadline, ctx.Err())
		}
	})
}

func TestRecordEvent(t *testing.T) {
	t.Parallel()
	c, server := newCluster()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.recordEvent(ctx, strings.Repeat("x", 5000)); err != nil {
		t.Fatal(err)
	}
	event, ok := server.Requests()[0].Created.(*eventsv1.Event)
	if !ok || len(event.Note) != 1024 || event.Namespace != "porch-system" || event.EventTime.IsZero() || event.Type != corev1.EventTypeNormal {
		t.Fatalf("%+v", event)
	}
	want := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "janitor-1", Namespace: "porch-system", UID: "u"}
	if diff := cmp.Diff(want, event.Regarding); diff != "" {
		t.Error(diff)
	}
	// The API server requires all of these fields.
	for _, text := range []string{event.Reason, event.Action, event.ReportingController, event.ReportingInstance} {
		if text == "" {
			t.Errorf("%+v", event)
		}
	}
	server.Before(func(request) error { return errors.New("no") })
	if err := c.recordEvent(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "pod porch-system/janitor-1") {
		t.Error(err)
	}
	server.Requests()
	for _, self := range []Self{{}, {Name: "a"}, {Namespace: "b"}} {
		c.Self = self
		if err := c.recordEvent(t.Context(), "x"); err != nil || len(server.Requests()) != 0 {
			t.Errorf("recordEvent() as %+v = %v", self, err)
		}
	}
}

func TestSelf(t *testing.T) {
	t.Setenv("POD_NAME", "a")
	t.Setenv("POD_NAMESPACE", "b")
	t.Setenv("POD_UID", "")
	if diff := cmp.Diff(Self{Name: "a", Namespace: "b"}, selfFromEnvironment()); diff != "" {
		t.Error(diff)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config")
	c := Config{Options: options.Options{Kubeconfig: file}}
	if err := c.Connect(); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Connect() without the file = %v", err)
	}
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: "https://127.0.0.1:1"}},
		Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c"}}, CurrentContext: "x",
	}, file); err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(); err != nil || c.Client.Pods == nil || c.Metadata == nil {
		t.Errorf("Connect() = %+v, %v", c, err)
	}
}
