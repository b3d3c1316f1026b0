// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials has the credentials that Google Cloud and AWS give to a machine, or pod, for their own registries. It is a
// module of its own, because the clouds' libraries make a binary some megabytes larger: function runners and image warmers import
// it with the build tag cloudkeychains.
package credentials

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	ecr "github.com/awslabs/amazon-ecr-credential-helper/ecr-login"
	"github.com/awslabs/amazon-ecr-credential-helper/ecr-login/api"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/google"
	"golang.org/x/oauth2"
)

// cloudTimeout is the most time that one request to a cloud takes.
const cloudTimeout = 10 * time.Second

// Keychain has the credentials of Docker's or Podman's configuration, and for the registries of Google Cloud and AWS those that
// these give to the machine, or pod. Where a cloud gives none, images are asked for without.
func Keychain() authn.Keychain {
	amazon := ecr.NewECRHelper(ecr.WithLogger(io.Discard), ecr.WithClientFactory(amazonClients{}))
	return authn.NewMultiKeychain(authn.DefaultKeychain, &googleKeychain{}, authn.NewKeychainFromHelper(amazon))
}

// googleKeychain has application default credentials. That of the registry's client remembers for ever when there were none,
// as where a metadata server is not ready when a pod begins, and renews no token once the first caller's context has ended.
type googleKeychain struct {
	mu    sync.Mutex
	found authn.Authenticator
}

// Resolve is ResolveContext without an end.
func (k *googleKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain wants it; registries' clients call the other.
}

// ResolveContext returns the credentials for a registry of Google's, else authn.Anonymous.
func (k *googleKeychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	host := target.RegistryStr()
	if host != "gcr.io" && !strings.HasSuffix(host, ".gcr.io") && !strings.HasSuffix(host, ".pkg.dev") {
		return authn.Anonymous, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		bounded := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: cloudTimeout})
		found, err := google.NewEnvAuthenticator(bounded)
		if err != nil {
			return authn.Anonymous, nil //nolint:nilerr // No credentials are none, and many images are public.
		}
		k.found = found
	}
	return k.found, nil
}

// amazonClients makes the clients of AWS, whose own requests have no end, and whose own factory panics where the configuration
// is not understood.
type amazonClients struct{ api.DefaultClientFactory }

// NewClientFromRegion returns the client for a region's registries.
func (f amazonClients) NewClientFromRegion(region string) api.Client {
	ctx, cancel := context.WithTimeout(context.Background(), cloudTimeout) //nolint:forbidigo // The interface has none.
	defer cancel()
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(cloudTimeout)))
	if err != nil {
		return failing{err: err}
	}
	return f.NewClient(loaded)
}

// failing is a client that could not be made.
type failing struct {
	api.Client
	err error
}

func (f failing) GetCredentials(string) (*api.Auth, error) { return nil, f.err }
