// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node returns a node with the given Ready condition.
func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

// watched is the maximum time until the watch has begun.
const watched = 200 * time.Millisecond

// warmed is a run: its nodes, nil for all, and its time in whole seconds.
type warmed struct {
	Nodes []string
	After time.Duration
}

// fakeNodes are the nodes of client-go's fake API server, which does not support watch lists.
type fakeNodes struct{ typedcorev1.NodeInterface }

func (fakeNodes) IsWatchListSemanticsUnSupported() bool { return true }

// harness runs Run in a synctest bubble, with the ready node "old" and the node "new" that is not ready.
type harness struct {
	client *fake.Clientset
	begin  time.Time
	runs   []warmed
	// recovered holds the times of calls of Recovered.
	recovered []time.Duration
	// fails returns the failures of a run by its number.
	fails func(number int) []report.Failure
	// takes is the duration of each run.
	takes time.Duration
}

func (h *harness) warm(ctx context.Context, nodes []string) *report.Report {
	h.runs = append(h.runs, warmed{slices.Sorted(slices.Values(nodes)), time.Since(h.begin).Round(time.Second)})
	select {
	case <-time.After(h.takes):
	case <-ctx.Done():
	}
	r := &report.Report{}
	if h.fails != nil {
		r.Failures = h.fails(len(h.runs))
	}
	return r
}

func (h *harness) recover() {
	h.recovered = append(h.recovered, time.Since(h.begin).Round(time.Second))
}

// check calls Run until do returns, and compares the runs.
func (h *harness) check(t *testing.T, want []warmed, do func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.begin = time.Now()
		h.client = fake.NewClientset(node("old", corev1.ConditionTrue), node("new", corev1.ConditionFalse))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- watch.Run(ctx, watch.Config{Nodes: fakeNodes{h.client.CoreV1().Nodes()}, Interval: time.Hour, Warm: h.warm, Recovered: h.recover, Log: slog.New(slog.DiscardHandler)})
		}()
		time.Sleep(watched)
		do()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, h.runs); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

func (h *harness) update(t *testing.T, node *corev1.Node) {
	t.Helper()
	if _, err := h.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

func (h *harness) create(t *testing.T, node *corev1.Node) {
	t.Helper()
	if _, err := h.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAllNodesEachInterval(t *testing.T) {
	t.Parallel()
	h := &harness{takes: time.Minute}
	h.check(t, []warmed{{nil, 0}, {nil, 61 * time.Minute}, {nil, 122 * time.Minute}}, func() { time.Sleep(150 * time.Minute) })
}

func TestNodesThatJoin(t *testing.T) {
	t.Parallel()
	h := &harness{}
	h.check(t, []warmed{{nil, 0}, {[]string{"new"}, time.Minute}, {[]string{"another"}, 2 * time.Minute}}, func() {
		time.Sleep(time.Minute)
		h.update(t, node("new", corev1.ConditionTrue))
		time.Sleep(30 * time.Second)
		h.update(t, node("new", corev1.ConditionTrue)) // nothing that matters
		time.Sleep(30 * time.Second)
		h.create(t, node("another", corev1.ConditionTrue))
		time.Sleep(time.Minute)
	})
}

// Nodes that join during a run share the next run.
func TestNodesThatJoinMeanwhile(t *testing.T) {
	t.Parallel()
	h := &harness{takes: 10 * time.Minute}
	h.check(t, []warmed{{nil, 0}, {[]string{"a", "b", "new"}, 10 * time.Minute}}, func() {
		time.Sleep(time.Minute)
		h.create(t, node("a", corev1.ConditionTrue))
		h.create(t, node("b", corev1.ConditionTrue))
		h.update(t, node("new", corev1.ConditionTrue))
		time.Sleep(30 * time.Minute)
	})
}

// A node with the name of an earlier node is a new node.
func TestNodesThatAreReplaced(t *testing.T) {
	t.Parallel()
	h := &harness{}
	h.check(t, []warmed{{nil, 0}, {[]string{"old"}, time.Minute}}, func() {
		time.Sleep(time.Minute)
		if err := h.client.CoreV1().Nodes().Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		h.create(t, node("old", corev1.ConditionTrue))
		time.Sleep(time.Minute)
	})
}

// Failures are retried with backoff: on single nodes if only their pulls failed, otherwise on all nodes.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure report.Failure
		nodes   []string
	}{
		"of a node":      {report.Failure{Image: "a", Node: "old"}, []string{"old"}},
		"of a registry":  {report.Failure{Image: "a"}, nil},
		"of the cluster": {report.Failure{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &harness{fails: func(number int) []report.Failure {
				if number <= 3 {
					return []report.Failure{test.failure}
				}
				return nil
			}}
			h.check(t, []warmed{{nil, 0}, {test.nodes, time.Minute}, {test.nodes, 3 * time.Minute}, {test.nodes, 7 * time.Minute}},
				func() { time.Sleep(50 * time.Minute) })
		})
	}
}

// A permanent failure is retried every interval.
func TestFailuresThatStay(t *testing.T) {
	t.Parallel()
	h := &harness{fails: func(int) []report.Failure { return []report.Failure{{Image: "a"}} }}
	var want []warmed
	for _, after := range []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183} {
		want = append(want, warmed{nil, after * time.Minute})
	}
	h.check(t, want, func() { time.Sleep(200 * time.Minute) })
}

// Recovered is called when the last failed node has succeeded, and not after other runs.
func TestRecovers(t *testing.T) {
	t.Parallel()
	node := func(name string) report.Failure { return report.Failure{Image: "a", Node: name} }
	for name, test := range map[string]struct {
		failures map[int][]report.Failure // by the number of the run
		runs     []warmed
		want     []time.Duration
	}{
		"nothing fails": {nil, []warmed{{nil, 0}}, nil},
		"one node": {
			map[int][]report.Failure{1: {node("old")}},
			[]warmed{{nil, 0}, {[]string{"old"}, time.Minute}},
			[]time.Duration{time.Minute},
		},
		"one of two nodes fails again": {
			map[int][]report.Failure{1: {node("a"), node("b")}, 2: {node("b")}},
			[]warmed{{nil, 0}, {[]string{"a", "b"}, time.Minute}, {[]string{"b"}, 3 * time.Minute}},
			[]time.Duration{3 * time.Minute},
		},
		// A run for all nodes records its own success.
		"all nodes": {map[int][]report.Failure{1: {{Image: "a"}}}, []warmed{{nil, 0}, {nil, time.Minute}}, nil},
		"a node and a registry": {
			map[int][]report.Failure{1: {node("old"), {Image: "a"}}},
			[]warmed{{nil, 0}, {nil, time.Minute}},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &harness{fails: func(number int) []report.Failure { return test.failures[number] }}
			h.check(t, test.runs, func() { time.Sleep(50 * time.Minute) })
			if diff := cmp.Diff(test.want, h.recovered); diff != "" {
				t.Errorf("recovered (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndsDuringARun(t *testing.T) {
	t.Parallel()
	h := &harness{takes: time.Hour}
	h.check(t, []warmed{{nil, 0}}, func() { time.Sleep(time.Second) })
}

func TestNodesCannotBeWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
			time.Sleep(2 * time.Minute) // as an API server that hangs
			return false, nil, nil
		})
		h := &harness{}
		err := watch.Run(t.Context(), watch.Config{Nodes: fakeNodes{client.CoreV1().Nodes()}, Interval: time.Hour, Warm: h.warm, Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "nodes cannot be watched") || len(h.runs) > 0 {
			t.Errorf("Run() = %v, runs = %v", err, h.runs)
		}
		time.Sleep(2 * time.Minute) // until the API server has answered
	})
}
