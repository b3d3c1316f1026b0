// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package registry checks that functions come from registries as companies have them, on both sides: the function runner looks
// their images up, and nodes pull them.
package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/registry/private"
)

const (
	// user and the passwords are those of the registry.
	user, first, second = "porch", "first-Pa55word", "second-Pa55word"
	// credentials and authorities are the names of the Secrets that the function runner mounts.
	credentials, authorities = "e2e-registry-credentials", "e2e-registry-authorities"
	patience, promptly       = fixture.Patience, fixture.Promptly
	// ttl is how long tags are taken for granted.
	ttl = 4 * time.Second
	// mounted is how long it may take until a function runner has a Secret that was changed.
	mounted = 2 * time.Minute
)

var (
	f         = fixture.Shared()
	registry  *private.Server
	authority *private.Authority
)

// configure has the function runner use the registry.
func configure(ctx context.Context) {
	open(ctx)
	f.Configure(ctx, values())
}

// open starts the registry, the first time, and has it work again after the spec. It is for specs that have values of their own.
func open(ctx context.Context) {
	if registry == nil {
		start(ctx)
	}
	DeferCleanup(func() {
		if registry.SetFault(private.NoFault) == private.RateLimit {
			time.Sleep(private.RetryAfter)
		}
	})
}

// start starts the registry of this process. It runs to the end of the suite.
func start(ctx context.Context) {
	GinkgoHelper()
	host, _, err := net.SplitHostPort(f.Registry)
	Expect(err).NotTo(HaveOccurred())
	authority = newAuthority("first authority")
	registry, err = private.Start(context.WithoutCancel(ctx), host, authority, private.Login{User: user, Password: first})
	Expect(err).NotTo(HaveOccurred())
	fixture.AtEnd(func(ctx context.Context) {
		registry.Close()
		Expect(f.TrustRegistry(ctx, registry.Address, nil)).To(Succeed())
		Expect(f.DeleteSecret(ctx, credentials)).To(Succeed())
		Expect(f.DeleteSecret(ctx, authorities)).To(Succeed())
	})
	trust(ctx, authority)
	login(ctx, first)
	nodesTrust(ctx, authority)
}

// values have the function runner use the registry.
func values() map[string]any {
	return map[string]any{
		"pods": map[string]any{
			"maxParallelPodsPerFunction": 2, "maxWaitlistLength": 1, "scanInterval": "1s", "readyTimeout": "30s",
		},
		"images":            map[string]any{"ttl": ttl.String()},
		"privateRegistries": map[string]any{"credentialsSecret": credentials, "caSecret": authorities},
	}
}

func newAuthority(name string) *private.Authority {
	GinkgoHelper()
	made, err := private.NewAuthority(name)
	Expect(err).NotTo(HaveOccurred())
	return made
}

// login gives the function runner a password for the registry.
func login(ctx context.Context, password string) {
	GinkgoHelper()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	config, err := json.Marshal(map[string]any{"auths": map[string]any{registry.Address: map[string]string{"auth": auth}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(f.PutSecret(ctx, credentials, corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: config})).To(Succeed())
}

// trust has the function runner trust authorities.
func trust(ctx context.Context, all ...*private.Authority) {
	GinkgoHelper()
	Expect(f.PutSecret(ctx, authorities, corev1.SecretTypeOpaque, map[string][]byte{"ca.crt": joined(all)})).To(Succeed())
}

// nodesTrust has the nodes trust authorities.
func nodesTrust(ctx context.Context, all ...*private.Authority) {
	GinkgoHelper()
	Expect(f.TrustRegistry(ctx, registry.Address, joined(all))).To(Succeed())
}

func joined(all []*private.Authority) []byte {
	var text []byte
	for _, one := range all {
		text = slices.Concat(text, one.PEM)
	}
	return text
}

// push puts a function there that no other spec has, and returns its image and digest.
func push(ctx context.Context, tagged string) (image, digest string) {
	GinkgoHelper()
	made, err := f.Images.Image(hostile.Echo, tagged)
	Expect(err).NotTo(HaveOccurred())
	image, digest, err = registry.Push(ctx, tagged, made)
	Expect(err).NotTo(HaveOccurred())
	return image, digest
}
