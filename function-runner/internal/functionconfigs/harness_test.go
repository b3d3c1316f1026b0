// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfigs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/services/images/reference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const namespace = "fns"

// object returns an object with a spec in YAML.
func object(t testing.TB, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	// UnmarshalJSON decodes whole numbers as int64, like the client of an API server.
	text, err := json.Marshal(map[string]any{"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig", "spec": fields})
	if err == nil {
		err = u.UnmarshalJSON(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	u.SetName(name)
	u.SetNamespace(namespace)
	u.SetUID(types.UID("uid-" + name))
	return u
}

// cluster is a fake API server with resource versions.
type cluster struct {
	*fake.FakeDynamicClient
	t *testing.T

	mu      sync.Mutex
	version int64
	served  bool
	down    error
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, served: true}
	c.FakeDynamicClient = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{functionconfig.Resource: "FunctionConfigList"})
	c.PrependReactor("patch", "functionconfigs", c.patch)
	return c
}

func (c *cluster) get(name string) *unstructured.Unstructured {
	c.t.Helper()
	found, err := c.Tracker().Get(functionconfig.Resource, namespace, name)
	if err != nil {
		c.t.Fatal(err)
	}
	u, _ := found.(*unstructured.Unstructured)
	return u.DeepCopy()
}

func (c *cluster) store(u *unstructured.Unstructured) {
	c.version++
	u.SetResourceVersion(strconv.FormatInt(c.version, 10))
	err := c.Tracker().Update(functionconfig.Resource, u, namespace)
	if apierrors.IsNotFound(err) {
		err = c.Tracker().Create(functionconfig.Resource, u, namespace)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// put stores a spec as a new generation of an object, and keeps its status.
func (c *cluster) put(name, spec string) {
	c.t.Helper()
	u := object(c.t, name, spec)
	c.mu.Lock()
	u.SetGeneration(c.version + 1)
	u.SetCreationTimestamp(metav1.Unix(c.version, 0))
	if found, err := c.Tracker().Get(functionconfig.Resource, namespace, name); err == nil {
		before, _ := found.(*unstructured.Unstructured)
		u.SetCreationTimestamp(before.GetCreationTimestamp())
		if status, ok := before.Object["status"]; ok {
			u.Object["status"] = runtime.DeepCopyJSONValue(status)
		}
	}
	c.store(u)
	c.mu.Unlock()
	synctest.Wait()
}

// edit changes object a without a new generation.
func (c *cluster) edit(change func(u *unstructured.Unstructured)) {
	c.t.Helper()
	u := c.get("a")
	change(u)
	c.mu.Lock()
	c.store(u)
	c.mu.Unlock()
	synctest.Wait()
}

func (c *cluster) remove(name string) {
	c.t.Helper()
	if err := c.Tracker().Delete(functionconfig.Resource, namespace, name); err != nil {
		c.t.Error(err)
	}
	synctest.Wait()
}

// patch applies merge patches like an API server: only to the resource version in the patch, and with the status subresource only to the
// status.
func (c *cluster) patch(action kubetesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, _ := action.(kubetesting.PatchAction)
	var patch map[string]any
	if err := json.Unmarshal(a.GetPatch(), &patch); err != nil || a.GetPatchType() != types.MergePatchType {
		c.t.Errorf("patch %s of type %s: %v", a.GetPatch(), a.GetPatchType(), err)
	}
	u := c.get(a.GetName())
	if metadata, _ := patch["metadata"].(map[string]any); metadata["resourceVersion"] != u.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(functionconfig.Resource.GroupResource(), a.GetName(), errors.New("another version"))
	}
	keep := "status"
	if a.GetSubresource() == "status" {
		keep = "metadata"
	}
	delete(patch, keep)
	merge(u.Object, patch)
	c.store(u)
	return true, u, nil
}

func merge(into, patch map[string]any) {
	for key, value := range patch {
		below, isMap := value.(map[string]any)
		current, has := into[key].(map[string]any)
		switch number, isNumber := value.(float64); {
		case value == nil:
			delete(into, key)
		case isMap && has:
			merge(current, below)
		case isMap:
			made := map[string]any{}
			into[key] = made
			merge(made, below)
		case isNumber:
			into[key] = int64(number)
		default:
			into[key] = value
		}
	}
}

// patches returns the number of patches so far.
func (c *cluster) patches() int {
	n := 0
	for _, action := range c.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}

func (c *cluster) set(served bool, down error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.served, c.down = served, down
}

func (c *cluster) isServed(context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served, c.down
}

// replica is a follower and a record of the calls of its callbacks.
type replica struct {
	*Follower
	stop func()

	mu sync.Mutex
	// images maps images to their executables.
	images map[string]string
	pods   int
	warmed []string
	// changes counts the reloads that have changed settings. reload is the error of the last reload.
	changes int
	reload  error
	log     bytes.Buffer
	// executables overrides whether executables are usable, by name.
	executables   map[string]bool
	initContainer bool
}

func (r *replica) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *replica) logged(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.log.String(), text)
}

func (r *replica) functions() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.images)
}

// executable returns a path for each executable that is not overridden as missing.
func (r *replica) executable(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if usable, set := r.executables[name]; set && !usable {
		return "", errors.New("executable " + name + " is missing")
	}
	return "/functions/" + name, nil
}

// has sets whether the executable a is usable.
func (r *replica) has(usable bool) {
	r.mu.Lock()
	r.executables["a"] = usable
	r.mu.Unlock()
	r.Recheck()
	synctest.Wait()
}

func resolved(name string) (string, error) { return reference.Resolve(name, "r.io") }

func (r *replica) rules() Rules {
	return Rules{
		DefaultPrefix: "r.io/", Reference: resolved, Executable: r.executable, InitContainer: func() bool { return r.initContainer },
	}
}

// fakeObjects is client-go's fake client, whose watches do not support initial events.
type fakeObjects struct{ dynamic.ResourceInterface }

func (fakeObjects) IsWatchListSemanticsUnSupported() bool { return true }

// start returns a replica that runs until the test ends.
func start(t *testing.T, c *cluster) *replica {
	t.Helper()
	r := &replica{executables: map[string]bool{}}
	r.Follower = New(Config{
		Rules: r.rules(), Client: fakeObjects{c.Resource(functionconfig.Resource).Namespace(namespace)}, Namespace: namespace, Served: c.isServed, Log: slog.New(slog.NewTextHandler(r, nil)),
		Functions: func(functions []exec.Executable) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.images = map[string]string{}
			for _, f := range functions {
				for _, name := range f.Images {
					r.images[name] = f.Path
				}
			}
		},
		PodsChanged: func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.pods++
		},
		Warm: func(references []string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warmed = append(r.warmed, references...)
		},
		Reloaded: func(changed bool, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.reload = err; changed {
				r.changes++
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(r.stop)
	synctest.Wait()
	return r
}

// status is the status and the generation of an object.
type status struct {
	observed, generation int64
	text                 string
}

func (c *cluster) status(name string) status {
	c.t.Helper()
	u := c.get(name)
	s := status{generation: u.GetGeneration()}
	s.observed, _, _ = unstructured.NestedInt64(u.Object, "status", "functionRunnerObservedGeneration")
	s.text, _, _ = unstructured.NestedString(u.Object, "status", "error")
	return s
}

// wantStatus checks that the status reports the latest generation, and the error in the status.
func (c *cluster) wantStatus(name, text string) {
	c.t.Helper()
	if s := c.status(name); s.observed != s.generation || s.text != text {
		c.t.Errorf("status of %s: observed generation = %d, want %d; error = %q, want %q", name, s.observed, s.generation, s.text, text)
	}
}

func bubble(t *testing.T, test func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newCluster(t)) })
}
