// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulation simulates a cluster for tests of code that manages function pods: an API server with pods, Services and ConfigMaps,
// a kubelet, and function pods, which are gRPC servers. By default the cluster is in memory, so that tests can run it in a
// testing/synctest bubble.
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

// Namespace is the namespace of the function pods.
const Namespace = "functions"

// Resources that the API server supports.
const (
	pods       = "pods"
	services   = "services"
	configMaps = "configmaps"
)

// Request is a request to the API server.
type Request struct{ Verb, Resource, Name string }

// Cluster is a simulated cluster. Its methods are safe for concurrent use unless their comments say otherwise.
type Cluster struct {
	// Client is a client of the cluster's API server.
	Client *fake.Clientset

	t       testing.TB
	network Network
	// work tracks the goroutines of the kubelet and the pods.
	work sync.WaitGroup

	mu sync.Mutex
	// version is the latest resource version.
	version int
	objects map[string]map[string]object
	watches watches
	// wrappers maps the names of pods to their wrapper servers.
	wrappers      map[string]*Wrapper
	requests      []Request
	before, after func(Request) error
	admit         func(*corev1.Pod)
	kubelet       func(name string)
	terminated    func(name string)
	// holding says that deleted pods do not terminate.
	holding bool
}

type object interface {
	runtime.Object
	metav1.Object
}

// New returns a cluster on an in-memory network. DialOptions connect to its pods.
func New(t testing.TB) *Cluster {
	t.Helper()
	return NewOn(t, &memory{listeners: map[string]*listener{}})
}

// NewOn returns a cluster on the given network.
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

// Version returns a client for the version of the cluster.
func (c *Cluster) Version() discovery.ServerVersionInterfaceWithContext {
	return discovery.ToServerVersionInterfaceWithContext(c.Client.Discovery())
}

func (c *Cluster) close() {
	c.mu.Lock()
	c.kubelet, c.holding = func(string) {}, true
	c.mu.Unlock()
	c.killAll()
	c.work.Wait()
	// The kubelet may have started another wrapper server meanwhile.
	c.killAll()
}

// killAll kills all wrapper servers.
func (c *Cluster) killAll() {
	c.mu.Lock()
	wrappers := slices.Collect(maps.Values(c.wrappers))
	c.mu.Unlock()
	for _, w := range wrappers {
		w.Kill()
	}
}

// Kubelet replaces Run as the handler of new pods. Each pod's handler runs in its own goroutine.
func (c *Cluster) Kubelet(handle func(name string)) { c.set(func() { c.kubelet = handle }) }

// Terminated sets a function that runs for each deleted pod before the pod terminates, in the pod's own goroutine.
func (c *Cluster) Terminated(handle func(name string)) { c.set(func() { c.terminated = handle }) }

// Before sets a function that the API server calls before each request. Its error, if any, is the response. The function must not block.
func (c *Cluster) Before(refuse func(Request) error) { c.set(func() { c.before = refuse }) }

// After sets a function that the API server calls after each successful request. Its error, if any, replaces the response. The function
// must not block.
func (c *Cluster) After(lose func(Request) error) { c.set(func() { c.after = lose }) }

// Admit sets a function that changes each new pod, like a mutating webhook.
func (c *Cluster) Admit(change func(*corev1.Pod)) { c.set(func() { c.admit = change }) }

// Hold makes deleted pods stay in the cluster, or terminate.
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

// Pods returns the existing pods, sorted by name.
func (c *Cluster) Pods() []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return list[*corev1.Pod](c, pods)
}

// Pod returns a pod by name, or nil if it does not exist.
func (c *Cluster) Pod(name string) *corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod, ok := c.objects[pods][name].(*corev1.Pod); ok {
		return pod.DeepCopy()
	}
	return nil
}

// Count returns the number of pods. Only the functions of Before and After may call it, because they run with the lock held.
func (c *Cluster) Count() int { return len(c.objects[pods]) }

// Gone reports whether no pod has the name.
func (c *Cluster) Gone(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[pods][name] == nil
}

// Services returns the existing Services, sorted by name.
func (c *Cluster) Services() []*corev1.Service {
	c.mu.Lock()
	defer c.mu.Unlock()
	return list[*corev1.Service](c, services)
}

// list returns copies of the objects of a resource, sorted by name. The caller must hold the lock.
func list[T object](c *Cluster, resource string) []T {
	all := make([]T, 0, len(c.objects[resource]))
	for _, name := range slices.Sorted(maps.Keys(c.objects[resource])) {
		if o, ok := c.objects[resource][name].DeepCopyObject().(T); ok {
			all = append(all, o)
		}
	}
	return all
}

// Requests returns the number of requests by verb and resource. An empty string matches any value.
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

// next sets the next resource version on an object.
func (c *Cluster) next(o object) {
	c.version++
	o.SetResourceVersion(strconv.Itoa(c.version))
}

// now returns the current time in whole seconds, which is the precision of Kubernetes timestamps.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }
