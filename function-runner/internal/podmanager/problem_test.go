// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// The error of a failed pull names the side that has the problem.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`failed to do request: Head "https://r.io/v2/": tls: failed to verify certificate: x509: certificate signed by unknown authority`: "node n, not the function runner, refuses the registry's certificate",
		`failed to authorize: unexpected status: 401 Unauthorized`:                                                                        "node n, not the function runner, is refused by the registry: check the pull secrets",
		`unexpected status from HEAD request: 429 Too Many Requests`:                                                                      "the registry limits how much node n pulls",
		`no match for platform in manifest: not found`:                                                                                    "not built for the platform of node n",
		`dial tcp: lookup r.io: no such host`:                                                                                             "node n, not the function runner, cannot reach the registry",
		`manifest unknown`:                                                                                                                "ErrImagePull: manifest unknown",
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		err := notStarted(pod, &podstatus.Problem{Reason: "ErrImagePull", Message: message})
		if !strings.HasPrefix(err.Error(), "function pod p does not start: ErrImagePull: ") ||
			!strings.Contains(err.Error(), message+": "+want) && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("notStarted() = %v, want it to contain %q", err, want)
		}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	if err := notStarted(pod, &podstatus.Problem{Reason: "Error", Message: "x509: my own business"}); strings.Contains(err.Error(), "node n") {
		t.Errorf("notStarted() of a failed function = %v, want no advice about nodes", err)
	}
}
