// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	nodeCount = 20
	// scheduling is the minimum duration of scheduling, and starting is the minimum duration of each step of the kubelet. Both vary up to
	// twice the value.
	scheduling = 50 * time.Millisecond
	starting   = 500 * time.Millisecond
	// nodeGrace is the time after which the pods of a silent node are reported as unready, and the scheduler ignores the node.
	nodeGrace = 40 * time.Second
)

// node is a node of the cluster.
type node struct {
	name string
	// lost is closed when the node is lost.
	lost chan struct{}
}

func (n *node) isLost() bool {
	select {
	case <-n.lost:
		return true
	default:
		return false
	}
}

// nodes simulates the nodes of a cluster, with their kubelets and the scheduler.
type nodes struct {
	cluster *simulation.Cluster
	network *network

	mu        sync.Mutex
	all       []*node
	lost      map[string]bool
	addresses int
	// running maps pods to their servers.
	running map[string]*server
	// most is the maximum number of pods that ran at the same time. made is the number of pods that were started.
	most, made int
	// end is closed when the simulation ends. Deleted pods of lost nodes are removed only then.
	end chan struct{}
}

func newNodes(c *simulation.Cluster, n *network) *nodes {
	all := &nodes{cluster: c, network: n, running: map[string]*server{}, lost: map[string]bool{}, end: make(chan struct{})}
	for i := range nodeCount {
		all.all = append(all.all, &node{name: fmt.Sprintf("node-%d", i+1), lost: make(chan struct{})})
	}
	c.Kubelet(all.start)
	c.Terminated(all.terminate)
	return all
}

// pick returns a random node for a pod, among those that the pod does not avoid if possible.
func (n *nodes) pick(pod *corev1.Pod) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	var allowed []*node
	for _, candidate := range n.all {
		if !avoids(pod, candidate.name) {
			allowed = append(allowed, candidate)
		}
	}
	if len(allowed) == 0 {
		allowed = n.all
	}
	return allowed[rand.N(len(allowed))]
}

// avoids reports whether a pod's affinity avoids a node.
func avoids(pod *corev1.Pod, name string) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return false
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		for _, e := range append(term.Preference.MatchExpressions, term.Preference.MatchFields...) {
			for _, value := range e.Values {
				if e.Operator == corev1.NodeSelectorOpNotIn && value == name {
					return true
				}
			}
		}
	}
	return false
}

// start schedules a pod and starts its wrapper server.
func (n *nodes) start(name string) {
	pod := n.cluster.Pod(name)
	if pod == nil {
		return
	}
	sleep(scheduling)
	on := n.pick(pod)
	n.cluster.Change(name, func(p *corev1.Pod) { p.Spec.NodeName = on.name })
	sleep(starting)
	if on.isLost() {
		return
	}
	s := newServer(wrapperapi.Target{PodUID: string(pod.UID)}, on)
	n.mu.Lock()
	n.addresses++
	n.made++
	address := fmt.Sprintf("10.%d.%d.%d", n.addresses>>16&255, n.addresses>>8&255, n.addresses&255)
	n.running[name] = s
	n.most = max(n.most, len(n.running))
	n.mu.Unlock()
	n.network.listen(target(address), s)
	n.cluster.Change(name, func(p *corev1.Pod) { p.Status.PodIP, p.Status.Phase = address, corev1.PodRunning })
	sleep(starting)
	n.cluster.Change(name, func(p *corev1.Pod) { p.Status.Conditions = ready(corev1.ConditionTrue) })
}

func target(address string) string {
	return fmt.Sprintf("passthrough:///%s:%d", address, podtemplate.Port)
}

func ready(status corev1.ConditionStatus) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// terminate drains a deleted pod. Pods of a lost node stay until the end of the simulation.
func (n *nodes) terminate(name string) {
	pod := n.cluster.Pod(name)
	n.mu.Lock()
	s, lost := n.running[name], n.lost[pod.Spec.NodeName]
	n.mu.Unlock()
	if lost {
		<-n.end
		return
	}
	if s == nil {
		return
	}
	sleep(watchDelay)
	s.drain()
	n.mu.Lock()
	delete(n.running, name)
	n.mu.Unlock()
	n.network.close(target(pod.Status.PodIP))
}

// lose makes a node fall silent.
func (n *nodes) lose(lost *node) {
	close(lost.lost)
	n.mu.Lock()
	n.lost[lost.name] = true
	var names []string
	var servers []*server
	for name, s := range n.running {
		if s.node == lost {
			names, servers = append(names, name), append(servers, s)
			delete(n.running, name)
		}
	}
	n.mu.Unlock()
	time.AfterFunc(keepalive, func() {
		for _, s := range servers {
			s.breakConnections()
		}
	})
	time.AfterFunc(nodeGrace, func() {
		n.mu.Lock()
		for i, other := range n.all {
			if other == lost {
				n.all = append(n.all[:i:i], n.all[i+1:]...)
				break
			}
		}
		n.mu.Unlock()
		for _, name := range names {
			n.cluster.Change(name, func(p *corev1.Pod) { p.Status.Conditions = ready(corev1.ConditionFalse) })
		}
	})
}

// madeSoFar returns the number of pods that were started.
func (n *nodes) madeSoFar() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.made
}
