// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
)

// apiServer implements the part of the Kubernetes API that a function runner needs to check tokens and to create pods. It has no pods:
// it sends the image of each pod to created, and rejects the pod.
type apiServer struct {
	*httptest.Server
	// tokens maps valid tokens for the audience krmfn to user names. It must not change after the first request.
	tokens map[string]string
	// down makes all requests fail.
	down    atomic.Bool
	created chan string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{tokens: map[string]string{}, created: make(chan string, 100)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	// Close waits for open watches unless their connections are closed first.
	t.Cleanup(s.CloseClientConnections)
	return s
}

// kubeconfig returns the path of a kubeconfig file for the API server.
func (s *apiServer) kubeconfig(t *testing.T) string {
	t.Helper()
	return certificatestest.Write(t, t.TempDir(), "kubeconfig", fmt.Appendf(nil,
		"{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}", s.URL))
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || s.down.Load() {
		answer(w, http.StatusServiceUnavailable, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonServiceUnavailable})
		return
	}
	query := r.URL.Query()
	switch {
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"gitVersion":"v1.36.0"}`)
	case r.URL.Path == "/apis/authentication.k8s.io/v1/tokenreviews":
		answer(w, http.StatusCreated, s.review(decode[*authenticationv1.TokenReview](body)))
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods"):
		s.created <- decode[*corev1.Pod](body).Spec.Containers[0].Image
		answer(w, http.StatusForbidden, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Message: "exceeded quota: none"})
	case query.Get("sendInitialEvents") != "":
		// An informer whose streaming list is rejected falls back to a plain list.
		answer(w, http.StatusUnprocessableEntity, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid})
	case query.Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/pods"):
		answer(w, http.StatusOK, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	default:
		answer(w, http.StatusNotFound, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound})
	}
}

// review checks a token as a Kubernetes API server does.
func (s *apiServer) review(review *authenticationv1.TokenReview) *authenticationv1.TokenReview {
	if user, ok := s.tokens[review.Spec.Token]; ok && slices.Contains(review.Spec.Audiences, "krmfn") {
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: true, Audiences: []string{"krmfn"}, User: authenticationv1.UserInfo{Username: user},
		}
	}
	return review
}

// answer sends an object as JSON.
func answer(w http.ResponseWriter, code int, object runtime.Object) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// decode decodes an object in JSON or protobuf. The function runner sends protobuf.
func decode[T runtime.Object](body []byte) T {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		panic(err)
	}
	return object.(T) //nolint:forcetypeassert // the server panics, and the test fails
}
