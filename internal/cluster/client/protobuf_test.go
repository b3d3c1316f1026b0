// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/internal/cluster/client"
)

// API servers respond in protobuf, with objects of the client's API group and with errors.
func TestProtobuf(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	codec := protobuf.NewSerializer(scheme, scheme)
	version := authenticationv1.SchemeGroupVersion
	code, answer := http.StatusCreated, runtime.Object(&authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: version.String(), Kind: "TokenReview"}, Status: authenticationv1.TokenReviewStatus{Authenticated: true},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		if err := codec.Encode(answer, &body); err != nil || r.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
			t.Errorf("encode the response to a request of type %s: %v", r.Header.Get("Content-Type"), err)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.WriteHeader(code)
		_, _ = w.Write(body.Bytes())
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
	cluster, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	reviews := client.Of(cluster, version, "tokenreviews", "", &authenticationv1.TokenReview{}, &metav1.List{})
	got, err := reviews.Create(t.Context(), &authenticationv1.TokenReview{}, metav1.CreateOptions{})
	if err != nil || !got.Status.Authenticated {
		t.Errorf("Create() = %v, %v, want an authenticated user", got, err)
	}
	code, answer = http.StatusForbidden, &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
	}
	if _, err := reviews.Create(t.Context(), &authenticationv1.TokenReview{}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("Create() = %v, want Forbidden", err)
	}
}
