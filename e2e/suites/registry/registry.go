// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package registry tests functions in private registries. It covers both clients of a registry: the function runner, which looks images up,
// and nodes, which pull them.
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
	// user and the passwords are credentials of the registry.
	user, first, second = "porch", "first-Pa55word", "second-Pa55word"
	// credentials and authorities are names of Secrets that the function runner mounts.
	credentials, authorities = "e2e-registry-credentials", "e2e-registry-authorities"
	patience, promptly       = fixture.Patience, fixture.Promptly
	// ttl is the time for which the function runner caches the digest of a tag.
	ttl = 4 * time.Second
	// mountTimeout is the time limit for a changed Secret to reach the function runner.
	mountTimeout = 2 * time.Minute
)

var (
	f         = fixture.Shared()
	registry  *private.Server
	authority *private.Authority
)

// configure installs the function runner with the registry's settings.
func configure(ctx context.Context) {
	open(ctx)
	f.Configure(ctx, values())
}

// open starts the registry on first use, and resets its fault after the spec. It is for specs with values of their own.
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

// start starts the registry of this process, which runs until the end of the suite.
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

// values returns chart values that make the function runner use the registry.
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

// login stores the function runner's password for the registry in a Secret.
func login(ctx context.Context, password string) {
	GinkgoHelper()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	config, err := json.Marshal(map[string]any{"auths": map[string]any{registry.Address: map[string]string{"auth": auth}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(f.PutSecret(ctx, credentials, corev1.SecretTypeDockerConfigJson, map[string][]byte{corev1.DockerConfigJsonKey: config})).To(Succeed())
}

// trust makes the function runner trust authorities.
func trust(ctx context.Context, all ...*private.Authority) {
	GinkgoHelper()
	Expect(f.PutSecret(ctx, authorities, corev1.SecretTypeOpaque, map[string][]byte{"ca.crt": joined(all)})).To(Succeed())
}

// nodesTrust makes the nodes trust authorities.
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

// push pushes a function under a tag, and returns the image's reference and digest. The image is unique to the call.
func push(ctx context.Context, tagged string) (image, digest string) {
	GinkgoHelper()
	made, err := f.Images.Image(hostile.Echo, tagged)
	Expect(err).NotTo(HaveOccurred())
	image, digest, err = registry.Push(ctx, tagged, made)
	Expect(err).NotTo(HaveOccurred())
	return image, digest
}
