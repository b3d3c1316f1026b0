// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/internal/images/registry"
	images "github.com/krmfn/krmfn/services/images/reference"
)

// sample is the function that is looked for where no image is named.
const sample = "set-labels"

// registryCheck checks whether a registry answers, and with which credentials.
type registryCheck struct {
	// image is the image whose manifest is read, or the repository whose tags are.
	image string
	// asked reports whether the user named the image.
	asked bool
}

func registryOf(image, prefix string) registryCheck {
	if image == "" {
		return registryCheck{image: strings.TrimSuffix(prefix, "/") + "/" + sample}
	}
	if !strings.Contains(image, "/") {
		image = strings.TrimSuffix(prefix, "/") + "/" + image
	}
	return registryCheck{image: image, asked: true}
}

func (c registryCheck) look(ctx context.Context) finding {
	f := finding{Check: "registry", Status: works}
	if images.IsLocal(c.image) {
		f.Found = c.image + " is on this machine, no registry is asked"
		return f
	}
	keychain := &noted{Keychain: authn.DefaultKeychain}
	client := registry.NewClient(registry.Options{Keychain: keychain, Timeout: maxTime})
	defer client.Close()
	err := c.ask(ctx, client)
	with := keychain.describe()
	if err == nil {
		f.Found = fmt.Sprintf("%s can be read %s", c.image, with)
		return f
	}
	f.Status, f.Found = warning, fmt.Sprintf("%s cannot be read %s: %s", c.image, with, reason(ctx, err))
	if c.asked {
		f.Status = fails
	}
	if errors.As(err, new(*registry.UnauthorizedError)) {
		f.Remedy = "log in, as with docker login or podman login; many registries answer so for an image that does not exist, too"
	}
	return f
}

func (c registryCheck) ask(ctx context.Context, client *registry.Client) error {
	var err error
	if c.asked {
		_, err = client.Digest(ctx, c.image)
	} else {
		_, err = client.Tags(ctx, c.image)
	}
	return err
}

// noted is a keychain that notes whose credentials it had.
type noted struct {
	authn.Keychain
	registry atomic.Pointer[string]
}

// Resolve returns the credentials for a registry or repository.
func (n *noted) Resolve(target authn.Resource) (authn.Authenticator, error) {
	found, err := n.Keychain.Resolve(target)
	if err == nil && found != authn.Anonymous {
		n.registry.Store(new(target.RegistryStr()))
	}
	return found, err
}

// describe tells where the credentials were, and never what they are.
func (n *noted) describe() string {
	host := n.registry.Load()
	if host == nil {
		return "without credentials"
	}
	file, err := config.Load(config.Dir())
	if err != nil {
		return "with credentials"
	}
	if helper := cmp.Or(file.CredentialHelpers[*host], file.CredentialsStore); helper != "" {
		return "with credentials of docker-credential-" + helper
	}
	return "with credentials of Docker's or Podman's configuration"
}
