// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package portforward connects to a Service of a Kubernetes cluster through the API server, with the user's kubeconfig, as kubectl
// port-forward does. Unlike that it opens no port on this machine, which other users of the machine could connect to.
package portforward

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Form is how a Target is written.
const Form = "[CONTEXT/]NAMESPACE/SERVICE[:PORT]"

// Target names a port of a Service.
type Target struct {
	// Context is a context of the kubeconfig; empty means the current context.
	Context            string
	Namespace, Service string
	// Port is the number or the name of a port of the Service. Empty means the only one, else the one named grpc, else 9445.
	Port string
}

// Parse reads a target of the given Form. A context may have slashes and colons.
func Parse(text string) (Target, error) {
	front, service, ok := cutLast(text, "/")
	if !ok {
		return Target{}, fmt.Errorf("%q has no namespace, want %s", text, Form)
	}
	var t Target
	var hasContext, hasPort bool
	t.Context, t.Namespace, hasContext = cutLast(front, "/")
	t.Service, t.Port, hasPort = strings.Cut(service, ":")
	if hasContext && t.Context == "" {
		return Target{}, fmt.Errorf("the context in %q is empty, want %s", text, Form)
	}
	for word, name := range map[string]string{"namespace": t.Namespace, "Service": t.Service} {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return Target{}, fmt.Errorf("%q is no name of a %s, want %s", name, word, Form)
		}
	}
	if hasPort && !isPort(t.Port) {
		return Target{}, fmt.Errorf("%q is neither number nor name of a port, want %s", t.Port, Form)
	}
	return t, nil
}

// cutLast slices text around the last separator. Without one, all of it is behind.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(separator):], true
}

func isPort(text string) bool {
	if number, err := strconv.Atoi(text); err == nil {
		return len(validation.IsValidPortNum(number)) == 0
	}
	// Unlike those of containers, names of a Service's ports are DNS labels.
	return len(validation.IsDNS1123Label(text)) == 0
}

// Host returns the name of the Service in its cluster, which a certificate has.
func (t Target) Host() string { return t.Service + "." + t.Namespace + ".svc" }
