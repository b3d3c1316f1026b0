// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package portforwardtest is an API server for tests that forwards ports, on a real socket.
package portforwardtest

import (
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	// Namespace is the namespace of the only Service.
	Namespace = "porch-system"
	// Name is the name of the only Service.
	Name = "function-runner"
	// Context is the current context of the kubeconfig.
	Context = "arn:aws:eks:eu-west-1:1:cluster/test"
	// token is what requests must carry.
	token = "a-token"
)

// Cluster is a cluster with one Service. Its fields may be changed before the first request, those of pods with Set.
type Cluster struct {
	// Kubeconfig is the path of a kubeconfig for the cluster.
	Kubeconfig string
	// Ports are the ports of the Service and of its pods.
	Ports []corev1.ServicePort
	// NoWebSocket makes it an API server that forwards ports by SPDY only.
	NoWebSocket bool
	// Forbid are the requests that are forbidden, as "get services".
	Forbid string

	mu   sync.Mutex
	pods map[string]Pod
	// reached are the pods that connections led to, in order; open are connections, by pod.
	reached []string
	open    map[string][]net.Conn
	streams sync.WaitGroup
}

// Pod is a pod of the Service.
type Pod struct {
	// Address is the address of the pod's port: host:port or unix://PATH.
	Address string
	// NotReady marks the pod as not ready. Gone means that the EndpointSlice lists the pod but it does not exist.
	NotReady, Gone bool
}

// Start starts a cluster, which ends with the test.
func Start(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{
		Kubeconfig: filepath.Join(t.TempDir(), "config"),
		Ports:      []corev1.ServicePort{{Name: "grpc", Port: 9445}},
		pods:       map[string]Pod{}, open: map[string][]net.Conn{},
	}
	server := httptest.NewTLSServer(c.handler())
	t.Cleanup(func() {
		c.mu.Lock()
		for name := range c.open {
			c.cut(name)
		}
		c.mu.Unlock()
		server.Close()
		c.streams.Wait()
	})
	config := api.NewConfig()
	config.Clusters["c"] = &api.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &api.AuthInfo{Token: token}
	config.AuthInfos["stranger"] = &api.AuthInfo{Token: "another"}
	config.Contexts[Context] = &api.Context{Cluster: "c", AuthInfo: "u"}
	config.Contexts["stranger"] = &api.Context{Cluster: "c", AuthInfo: "stranger"}
	config.CurrentContext = Context
	if err := clientcmd.WriteToFile(*config, c.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return c
}

// Set adds a pod or changes it.
func (c *Cluster) Set(name string, pod Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[name] = pod
}

// Cut ends all connections to a pod.
func (c *Cluster) Cut(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(name)
}

func (c *Cluster) cut(name string) {
	for _, open := range c.open[name] {
		_ = open.Close() // it may have ended
	}
	delete(c.open, name)
}

// Reached returns the pods that connections led to, in order.
func (c *Cluster) Reached() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.reached...)
}

// SetServer makes the kubeconfig tell of another address.
func (c *Cluster) SetServer(t *testing.T, url string) {
	t.Helper()
	text, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	config.Clusters["c"].Server = url
	if err := clientcmd.WriteToFile(*config, c.Kubeconfig); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/services/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("namespace") != Namespace || r.PathValue("name") != Name {
			fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		write(w, corev1.Service{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, Spec: corev1.ServiceSpec{Ports: c.Ports},
		})
	})
	mux.HandleFunc("GET /apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("labelSelector") != discoveryv1.LabelServiceName+"="+Name {
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		write(w, c.endpointSlices())
	})
	mux.HandleFunc("/api/v1/namespaces/{namespace}/pods/{pod}/portforward", c.forward)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			fail(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
		case c.Forbid != "" && c.Forbid == request(r):
			fail(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// request names the verb and the resource of a request.
func request(r *http.Request) string {
	switch {
	case strings.HasSuffix(r.URL.Path, "/portforward"):
		return "create pods/portforward"
	case strings.HasSuffix(r.URL.Path, "/endpointslices"):
		return "list endpointslices"
	}
	return "get services"
}

func (c *Cluster) endpointSlices() discoveryv1.EndpointSliceList {
	c.mu.Lock()
	defer c.mu.Unlock()
	slice := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	for _, p := range c.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port})
	}
	for name, pod := range c.pods {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: name},
			Conditions: discoveryv1.EndpointConditions{Ready: new(!pod.NotReady)},
		})
	}
	return discoveryv1.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"},
		// As of a Service with addresses of two families.
		Items: []discoveryv1.EndpointSlice{slice, slice},
	}
}

func write(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object) // the client may be gone
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	write(w, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, //nolint:gosec // an HTTP code
		Message: "the server says " + string(reason),
	})
}
