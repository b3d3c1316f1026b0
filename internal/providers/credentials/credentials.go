// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials provides the credentials that Google Cloud and AWS give to a machine or pod for their registries. It is a
// separate module because the libraries increase the size of a binary by several megabytes. Function runners and image warmers import
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

// cloudTimeout is the maximum duration of a request to a cloud.
const cloudTimeout = 10 * time.Second

// Keychain returns a keychain with the credentials in Docker's or Podman's configuration and, for registries of Google Cloud and AWS, the
// credentials of the machine or pod. Access to other registries is anonymous.
func Keychain() authn.Keychain {
	amazon := ecr.NewECRHelper(ecr.WithLogger(io.Discard), ecr.WithClientFactory(amazonClients{}))
	return authn.NewMultiKeychain(authn.DefaultKeychain, &googleKeychain{}, authn.NewKeychainFromHelper(amazon))
}

// googleKeychain uses application default credentials. Unlike go-containerregistry's keychain, it tries again if it found no
// credentials, for example because a pod starts before the metadata server is ready, and it can renew tokens after the first caller's
// context has ended.
type googleKeychain struct {
	mu    sync.Mutex
	found authn.Authenticator
}

// Resolve is ResolveContext without a context.
func (k *googleKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain requires it; registry clients call ResolveContext
}

// ResolveContext returns the credentials for a Google registry, and authn.Anonymous for others.
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
			return authn.Anonymous, nil //nolint:nilerr // without credentials, public images can still be read
		}
		k.found = found
	}
	return k.found, nil
}

// amazonClients creates AWS clients whose requests have a timeout. The default factory has none, and panics if the configuration is
// invalid.
type amazonClients struct{ api.DefaultClientFactory }

// NewClientFromRegion returns a client for a region's registries.
func (f amazonClients) NewClientFromRegion(region string) api.Client {
	ctx, cancel := context.WithTimeout(context.Background(), cloudTimeout) //nolint:forbidigo // the interface has no context parameter
	defer cancel()
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(cloudTimeout)))
	if err != nil {
		return failing{err: err}
	}
	return f.NewClient(loaded)
}

// failing is a client whose configuration is invalid.
type failing struct {
	api.Client
	err error
}

func (f failing) GetCredentials(string) (*api.Auth, error) { return nil, f.err }
