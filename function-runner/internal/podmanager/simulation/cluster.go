// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulation plays a cluster for tests of what keeps function pods: an API server that knows pods, Services and
// ConfigMaps, a kubelet, and the function pods, which are gRPC servers. By default all of it is in memory, so that it may live in
// a bubble of testing/synctest.
package simulation

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Namespace is where the function pods live.
const Namespace = "functions"

// The resources that there are.
const (
	pods       = "pods"
	services   = "services"
	configMaps = "configmaps"
)

// Request is a request to the API server.
type Request struct{ Verb, Resource, Name string }

// Cluster is a cluster. It may be used by any number of goroutines at once.
type Cluster struct {
	// Client is its client.
	Client *fake.Clientset

	t       testing.TB
	network Network
	// work has the goroutines of kubelet and pods.
	work sync.WaitGroup

	mu sync.Mutex
	// version is the latest resource version.
	version int
	objects map[string]map[string]object
	watches watches
	// wrappers has the wrapper servers by the names of their pods.
	wrappers      map[string]*Wrapper
	requests      []Request
	before, after func(Request) error
	admit         func(*corev1.Pod)
	kubelet       func(name string)
	terminated    func(name string)
	// holding keeps pods that are being deleted.
	holding bool
}

type object interface {
	runtime.Object
	metav1.Object
}

// New returns a cluster in memory. Its pods are reached with Dial.
func New(t testing.TB) *Cluster {
	t.Helper()
	return NewOn(t, &memory{listeners: map[string]*listener{}})
}

// NewOn returns a cluster on another network.
func NewOn(t testing.TB, n Network) *Cluster {
	t.Helper()
	c := &Cluster{
		t: t, Client: fake.NewClientset(), network: n, wrappers: map[string]*Wrapper{},
		objects: map[string]map[string]object{pods: {}, services: {}, configMaps: {}},
	}
	c.kubelet = c.Run
	c.Client.ReactionChain = []clienttesting.Reactor{&clienttesting.SimpleReactor{Verb: "*", Resource: "*", Reaction: c.react}}
	c.Client.WatchReactionChain = []clienttesting.WatchReactor{&clienttesting.SimpleWatchReactor{Resource: pods, Reaction: c.watch}}
	if fake, ok := c.Client.Discovery().(*fakediscovery.FakeDiscovery); ok {
		fake.FakedServerVersion = &version.Info{GitVersion: "v1.36.0"}
	}
	t.Cleanup(c.close)
	return c
}

// Version tells the version of the cluster.
func (c *Cluster) Version() discovery.ServerVersionInterfaceWithContext {
	return discovery.ToServerVersionInterfaceWithContext(c.Client.Discovery())
}

func (c *Cluster) close() {
	c.mu.Lock()
	c.kubelet, c.holding = func(string) {}, true
	c.mu.Unlock()
	c.killAll()
	c.work.Wait()
	// A kubelet may have started another one meanwhile.
	c.killAll()
}

// killAll ends all wrapper servers.
func (c *Cluster) killAll() {
	c.mu.Lock()
	wrappers := slices.Collect(maps.Values(c.wrappers))
	c.mu.Unlock()
	for _, w := range wrappers {
		w.Kill()
	}
}

// Kubelet has new pods handled in another way than by Run. It is called by a goroutine of the pod's own.
func (c *Cluster) Kubelet(handle func(name string)) { c.set(func() { c.kubelet = handle }) }

// Terminated is called for each pod that is being deleted, by a goroutine of the pod's own. The pod has gone when it returns.
func (c *Cluster) Terminated(handle func(name string)) { c.set(func() { c.terminated = handle }) }

// Before is asked before each request, whose answer its error is; After, when the request has been carried out. Both must not wait.
func (c *Cluster) Before(refuse func(Request) error) { c.set(func() { c.before = refuse }) }

// After is like Before, for answers that get lost.
func (c *Cluster) After(lose func(Request) error) { c.set(func() { c.after = lose }) }

// Admit changes each pod that is made.
func (c *Cluster) Admit(change func(*corev1.Pod)) { c.set(func() { c.admit = change }) }

// Hold has pods that are being deleted stay, or go.
func (c *Cluster) Hold(hold bool) {
	c.set(func() { c.holding = hold })
	if hold {
		return
	}
	for _, pod := range c.Pods() {
		if pod.DeletionTimestamp != nil {
			c.work.Go(func() { c.terminate(pod.Name) })
		}
	}
}

func (c *Cluster) set(what func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what()
}

// Pods returns the pods that there are, sorted by name.
func (c *Cluster) Pods() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return list[*corev1.Pod](c, pods)
}

// Pod returns a pod; nil if there is none with the name.
func (c *Cluster) Pod(name string) *corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod, ok := c.objects[pods][name].(*corev1.Pod); ok {
		return pod.DeepCopy()
	}
	return nil
}

// Count returns how many pods there are; Before and After may ask for it.
func (c *Cluster) Count() int { return len(c.objects[pods]) }

// Gone tells whether there is no pod of a name.
func (c *Cluster) Gone(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[pods][name] == nil
}

// Services returns the Services that there are, sorted by name.
func (c *Cluster) Services() []*corev1.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return list[*corev1.Service](c, services)
}

// list returns copies of the objects of a resource, sorted by name.
func list[T object](c *Cluster, resource string) []T {
	all := make([]T, 0, len(c.objects[resource]))
	for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
		if o, ok := c.objects[resource][name].DeepCopyObject().(T); ok {
			all = append(all, o)
		}
	}
	return all
}

// Requests returns how many requests of a verb for a resource the API server has had; "" means any.
func (c *Cluster) Requests(verb, resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.requests {
		if (verb == "" || r.Verb == verb) && (resource == "" || r.Resource == resource) {
			n++
		}
	}
	return n
}

// next gives an object the next resource version.
func (c *Cluster) next(o object) {
	c.version++
	o.SetResourceVersion(strconv.Itoa(c.version))
}

// now is in whole seconds, as the API server has it.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }
