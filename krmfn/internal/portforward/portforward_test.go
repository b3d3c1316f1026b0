// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/krmfn/internal/portforward"
	"github.com/krmfn/krmfn/krmfn/internal/portforward/portforwardtest"
)

func TestMain(m *testing.M) {
	// It waits for a second whether anybody asks why a connection could not be closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

// echo serves connections that send back what they get, and returns the address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // it has done its work
		served.Wait()
	})
	return listener.Addr().String()
}

func open(t *testing.T, c *portforwardtest.Cluster, text string) *portforward.Service {
	t.Helper()
	target, err := portforward.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := portforward.Open(target, portforward.Kubeconfig{Files: c.Kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// say fails the test unless what is written comes back.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, text)
		done <- err
	}()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("%d bytes came back, and error %v", len(got), err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

const current = portforwardtest.Namespace + "/" + portforwardtest.Name

func TestDial(t *testing.T) {
	t.Parallel()
	for name, noWebSocket := range map[string]bool{"WebSocket": false, "SPDY": true} {
		for _, target := range []string{current, portforwardtest.Context + "/" + current + ":grpc", current + ":9445"} {
			t.Run(name+" "+target, func(t *testing.T) {
				t.Parallel()
				cluster := portforwardtest.Start(t)
				cluster.NoWebSocket = noWebSocket
				cluster.Set("ready", portforwardtest.Pod{Address: echo(t)})
				cluster.Set("starting", portforwardtest.Pod{NotReady: true})
				s := open(t, cluster, target)
				for range 2 {
					c, err := s.Dial(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					say(t, c, "hello")
					say(t, c, strings.Repeat("long", 1<<18))
					if err := c.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
						t.Error(err)
					}
					if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("past the deadline: %v", err)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// A connection that was lost leads to another pod, and one that cannot be reached is passed by.
func TestDialAnother(t *testing.T) {
	t.Parallel()
	cluster := portforwardtest.Start(t)
	address := echo(t)
	for _, pod := range []string{"a", "b", "c"} {
		cluster.Set(pod, portforwardtest.Pod{Address: address, Gone: pod == "c"})
	}
	s := open(t, cluster, current)
	for range 6 {
		c, err := s.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		say(t, c, "hello")
		reached := cluster.Reached()
		cluster.Cut(reached[len(reached)-1])
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection that was cut can be read")
		}
	}
	reached := cluster.Reached()
	for i, pod := range reached[1:] {
		if pod == reached[i] {
			t.Errorf("reached the pods %v: one twice in turn", reached)
		}
	}
	if slices.Contains(reached, "c") {
		t.Errorf("reached the pods %v: one does not exist", reached)
	}
}

// The kubelet's reason is the connection's error.
func TestDialNobodyListens(t *testing.T) {
	t.Parallel()
	cluster := portforwardtest.Start(t)
	cluster.Set("a", portforwardtest.Pod{Address: "127.0.0.1:1"})
	c, err := open(t, cluster, current).Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	ready := portforwardtest.Pod{Address: "127.0.0.1:1"}
	ports := []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 8080}}
	for name, tc := range map[string]struct {
		target string
		change func(*portforwardtest.Cluster)
		want   string
	}{
		"no Service":        {"porch-system/runner", nil, "there is no Service runner in namespace porch-system (context " + portforwardtest.Context + ")"},
		"no namespace":      {"nowhere/function-runner", nil, "there is no Service function-runner in namespace nowhere"},
		"no ready pod":      {current, func(c *portforwardtest.Cluster) { c.Set("a", portforwardtest.Pod{NotReady: true}) }, "no pod of Service porch-system/function-runner is ready"},
		"several ports":     {current, func(c *portforwardtest.Cluster) { c.Ports = ports }, "it has several ports (http 80, metrics 8080): add one, as in SERVICE:PORT"},
		"no such port":      {current + ":81", func(c *portforwardtest.Cluster) { c.Ports = ports }, "it has no port 81, but http 80, metrics 8080"},
		"stranger":          {"stranger/" + current, nil, "the API server does not accept your credentials (context stranger): log in again"},
		"get services":      {current, func(c *portforwardtest.Cluster) { c.Forbid = "get services" }, "you may not get services in namespace porch-system"},
		"list slices":       {current, func(c *portforwardtest.Cluster) { c.Forbid = "list endpointslices" }, "you may not list endpointslices in namespace porch-system"},
		"forward":           {current, func(c *portforwardtest.Cluster) { c.Forbid = "create pods/portforward" }, "you may not create pods/portforward in namespace porch-system"},
		"the pod just went": {current, func(c *portforwardtest.Cluster) { c.Set("a", portforwardtest.Pod{Gone: true}) }, "create pods/portforward in namespace porch-system"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := portforwardtest.Start(t)
			cluster.Set("a", ready)
			if tc.change != nil {
				tc.change(cluster)
			}
			_, err := open(t, cluster, tc.target).Dial(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// An API server that does not answer holds nobody longer than the context.
func TestDialHangingServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cluster := portforwardtest.Start(t)
	cluster.SetServer(t, "https://"+listener.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, cluster, current).Dial(ctx); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("got %v", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	cluster := portforwardtest.Start(t)
	cluster.Set("a", portforwardtest.Pod{Address: echo(t)})
	s := open(t, cluster, current)
	c, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its Service")
	}
	if _, err := s.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
