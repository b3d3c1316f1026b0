// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// A pod names the authorities that it trusts by fingerprints: for its wrapper server, and for function runners. Other authorities make
// another version of the template.
func TestSecured(t *testing.T) {
	t.Parallel()
	template, err := podtemplate.Parse(configMap(porchTemplate, porchService), nil)
	if err != nil {
		t.Fatal(err)
	}
	secured, err1 := template.Secured([]string{"aa", "bb"})
	other, err2 := template.Secured([]string{"bb"})
	if err1 != nil || err2 != nil || secured.Version == other.Version || secured.Version == template.Version {
		t.Errorf("Secured() has version %s (%v), with other authorities %s (%v), and without %s, want three versions", secured.Version, err1, other.Version, err2, template.Version)
	}
	pod, _ := build(t, secured, function())
	container := podtemplate.FunctionOf(pod)
	want := append(slices.Clip(identity), corev1.EnvVar{Name: "KRMFN_RUNNER_AUTHORITIES", Value: "aa,bb"})
	if diff := cmp.Diff(want, container.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got := pod.Annotations["krmfn.dev/runner-authorities"]; got != "aa,bb" {
		t.Errorf("annotation krmfn.dev/runner-authorities = %q, want aa,bb", got)
	}
	if !slices.Contains(container.Args, "--tls") {
		t.Errorf("arguments = %q, want --tls", container.Args)
	}
}
