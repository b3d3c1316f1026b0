// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// testNamespace is the namespace of all objects.
const testNamespace = "fns"

// kinds are the kinds of the simulated resources.
var kinds = map[string]string{"pods": "Pod", "services": "Service", "secrets": "Secret"}

// server is client-go's fake API server with pages and preconditions, which sweeps rely on. It is safe for concurrent use.
type server struct {
	Client   *fake.Clientset
	Metadata *metadatafake.FakeMetadataClient

	mu       sync.Mutex
	before   func(request) error
	requests []request
	version  int
}

// Clients returns the clients of the server.
func (s *server) Clients() Clients {
	c := s.Client
	return Clients{
		Pods:        func(namespace string) listed[*corev1.PodList] { return c.CoreV1().Pods(namespace) },
		Services:    func(namespace string) listed[*corev1.ServiceList] { return c.CoreV1().Services(namespace) },
		Secrets:     func(namespace string) deletable { return c.CoreV1().Secrets(namespace) },
		Events:      func(namespace string) eventClient { return c.EventsV1().Events(namespace) },
		Deployments: func(namespace string) deploymentClient { return c.AppsV1().Deployments(namespace) },
	}
}

// request is a recorded request.
type request struct {
	Verb, Resource, Name string
	// List is set for list requests, Delete for delete requests, and Created for create requests.
	List    metav1.ListOptions
	Delete  metav1.DeleteOptions
	Created runtime.Object
}

// String returns a text like "delete pods a". Pages after the first are "continue pods".
func (r request) String() string {
	verb := r.Verb
	if r.List.Continue != "" {
		verb = "continue"
	}
	return strings.TrimSpace(verb + " " + r.Resource + " " + r.Name)
}

// newServer returns a server with the given pods, Services and Secrets. Each gets a UID and a resource version.
func newServer(objects ...metav1.Object) *server {
	s := &server{Client: fake.NewClientset(), version: 100}
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		panic(err)
	}
	s.Metadata = metadatafake.NewSimpleMetadataClient(scheme)
	s.Client.PrependReactor("*", "*", s.react)
	s.Metadata.PrependReactor("*", "*", s.react)
	for _, o := range objects {
		s.Put(o)
	}
	return s
}

// Put creates an object, or replaces it with a new version.
func (s *server) Put(object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	object.SetNamespace(testNamespace)
	object.SetResourceVersion(strconv.Itoa(s.version))
	if object.GetUID() == "" {
		object.SetUID(types.UID("uid-" + object.GetName()))
	}
	copied, resource := copyOf(object)
	_ = s.Client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource(resource), testNamespace, object.GetName()) // it may not exist
	if err := s.Client.Tracker().Add(copied); err != nil {
		panic(err)
	}
}

func copyOf(object metav1.Object) (o runtime.Object, resource string) {
	switch object := object.(type) {
	case *corev1.Pod:
		return object.DeepCopy(), "pods"
	case *corev1.Service:
		return object.DeepCopy(), "services"
	case *corev1.Secret:
		return object.DeepCopy(), "secrets"
	}
	panic(fmt.Sprintf("a %T", object))
}

// Names returns the names of all pods, Services and Secrets, such as "pods a".
func (s *server) Names() []string {
	var names []string
	for _, resource := range []string{"pods", "services", "secrets"} {
		_, items := s.all(resource)
		for _, o := range items {
			names = append(names, resource+" "+nameOf(o))
		}
	}
	return names
}

func nameOf(o runtime.Object) string {
	object, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	return object.GetName()
}

// Before sets a function that is called before each request. If it returns an error, so does the request.
func (s *server) Before(f func(request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Requests returns the requests since the last call of Requests.
func (s *server) Requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

func (s *server) react(action clienttesting.Action) (bool, runtime.Object, error) {
	r := request{Verb: action.GetVerb(), Resource: action.GetResource().Resource}
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		r.Created = a.Object
	case clienttesting.ListActionImpl:
		r.List = a.ListOptions
	case clienttesting.DeleteActionImpl:
		r.Name, r.Delete = a.Name, a.DeleteOptions
	case clienttesting.GetActionImpl:
		r.Name = a.Name
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(r); err != nil {
			return true, nil, err
		}
	}
	switch r.Verb {
	case "list":
		answer, err := s.page(r)
		return true, answer, err
	case "get":
		answer, err := s.get(action, r.Name)
		return true, answer, err
	case "delete":
		if err := s.precondition(action, r); err != nil {
			return true, nil, err
		}
	}
	return false, nil, nil
}

// page returns the requested part of a list. The continue token is the index of the next item.
func (s *server) page(r request) (runtime.Object, error) {
	list, items := s.all(r.Resource)
	begin, _ := strconv.Atoi(r.List.Continue) // "" means the first page
	end := len(items)
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	about.SetResourceVersion("1000")
	if r.List.Limit > 0 && begin+int(r.List.Limit) < end {
		end = begin + int(r.List.Limit)
		about.SetContinue(strconv.Itoa(end))
	}
	return list, meta.SetList(list, items[begin:end])
}

// all returns the objects of a resource, by name.
func (s *server) all(resource string) (list runtime.Object, items []runtime.Object) {
	version := corev1.SchemeGroupVersion
	list, err := s.Client.Tracker().List(version.WithResource(resource), version.WithKind(kinds[resource]), testNamespace)
	if err == nil {
		items, err = meta.ExtractList(list)
	}
	if err != nil {
		panic(err)
	}
	return list, items
}

// get returns the metadata of an object. Nothing requests more.
func (s *server) get(action clienttesting.Action, name string) (runtime.Object, error) {
	o, err := s.Client.Tracker().Get(action.GetResource(), action.GetNamespace(), name)
	if err != nil {
		return nil, err
	}
	secret, ok := o.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("get of a %T is not simulated", o)
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: secret.ObjectMeta}, nil
}

// precondition checks the preconditions of a deletion.
func (s *server) precondition(action clienttesting.Action, r request) error {
	o, err := s.Client.Tracker().Get(action.GetResource(), action.GetNamespace(), r.Name)
	if err != nil {
		return err
	}
	object, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	p := r.Delete.Preconditions
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != object.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != object.GetResourceVersion() {
		return apierrors.NewConflict(action.GetResource().GroupResource(), r.Name, errors.New("the preconditions do not hold"))
	}
	return nil
}
