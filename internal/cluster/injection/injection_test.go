// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package injection_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
	discovery "k8s.io/client-go/discovery/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/internal/cluster/injection"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]injection.Method{
		"v1.34.9": injection.InitContainer, "v1.35.0": injection.ImageVolume, "v1.36.3+k3s1": injection.ImageVolume, "?": injection.InitContainer,
	} {
		client := &discovery.FakeDiscovery{Fake: &kubetesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: text}}
		if got, err := injection.Detect(t.Context(), client); got != want || (err != nil) != (text == "?") {
			t.Errorf("Detect() of version %q = %v, %v", text, got, err)
		}
	}
}

func TestRefusedByServer(t *testing.T) {
	t.Parallel()
	invalid := func(at *field.Path) error {
		return fmt.Errorf("make a pod: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", field.ErrorList{field.Required(at, "volumes")}))
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"volume":      {invalid(field.NewPath("spec", "volumes").Index(0)), true},
		"toleration":  {invalid(field.NewPath("spec", "tolerations").Index(0)), false},
		"no status":   {errors.New("spec.volumes"), false},
		"not invalid": {apierrors.NewBadRequest("spec.volumes"), false},
		"none":        {nil, false},
	} {
		if got := injection.RefusedByServer(tc.err); got != tc.want {
			t.Errorf("%s: RefusedByServer() = %v", name, got)
		}
	}
}

func TestRefusedByNode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, message string
		want            bool
	}{
		{"CreateContainerError", "failed to generate spec: failed to mount image volume", true},
		{"StartError", `exec: "/tools/server": no such file or directory`, true},
		{"StartError", `exec: "/home/nonroot": no such file or directory`, false},
		{"ErrImagePull", "mount", false},
		{"StartError", "failed to set MOUNT_ATTR_IDMAP on /tools: invalid argument (maybe the filesystem used doesn't support idmap mounts)", false},
	} {
		if got := injection.RefusedByNode(tc.reason, tc.message, "/tools"); got != tc.want {
			t.Errorf("RefusedByNode(%s, %s) = %v", tc.reason, tc.message, got)
		}
	}
}
