// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/services/images/reference"
)

// KeychainOptions configure a Keychain. Zero values mean the defaults.
type KeychainOptions struct {
	// File is the docker config file. Its maximum size is 1 MiB.
	File string
	// Default provides credentials for the function catalog if the file has none. The default is Docker's or Podman's configuration.
	Default authn.Keychain
	// Processes runs credential helpers. The caller closes a runner that it passes. It must be passed if its Reap runs.
	Processes *process.Runner
	// Environ is the environment of credential helpers. The default is this process's.
	Environ []string
	// Log gets one line for each change of the file, and for each problem in it: keys, never values. Nil discards them.
	Log *slog.Logger
}

// Keychain provides the credentials in a docker config file: auths, credHelpers and credsStore. The most specific key of auths is used
// first. If the registry rejects it, Client tries other matching keys. Keys are matched like the kubelet does; they may have a scheme,
// /v1/ or /v2/, a port, a path, and * within a part of the host name. A changed file takes effect within a second. A file that cannot
// be parsed has no effect.
//
// The order is: the helper for the registry, auths, credsStore, and for catalog images Default. Keychain is safe for concurrent use.
type Keychain struct {
	options KeychainOptions
	// own is the runner of helpers if the keychain created it.
	own     *process.Runner
	running chan struct{}

	mu     sync.Mutex
	looked time.Time
	// content is the latest content of the file, valid or not. unreadable is the error if the file could not be read.
	content    []byte
	unreadable string
	config     *dockerConfig
	// failing contains credsStores whose failure has been logged.
	failing map[string]bool
}

const (
	// rereadInterval is the minimum interval between two reads of a file.
	rereadInterval = time.Second
	// maxFile is the maximum size of a file in bytes. A Secret cannot be larger.
	maxFile = 1 << 20
	// maxHelpers is the maximum number of concurrent credential helpers.
	maxHelpers = 4
)

// NewKeychain returns a keychain. It reads the file at the first use.
func NewKeychain(options KeychainOptions) *Keychain {
	k := &Keychain{
		options: options, running: make(chan struct{}, maxHelpers), config: &dockerConfig{}, failing: map[string]bool{},
	}
	if options.Default == nil {
		k.options.Default = authn.DefaultKeychain
	}
	if options.Processes == nil {
		k.own = process.NewRunner(process.Options{})
		k.options.Processes = k.own
	}
	if options.Environ == nil {
		k.options.Environ = os.Environ()
	}
	k.options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	return k
}

// Close releases the resources of credential helpers. The keychain must not be in use.
func (k *Keychain) Close() {
	if k.own != nil {
		k.own.Close()
	}
}

// Resolve is ResolveContext without a context.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain requires it; registry clients call ResolveContext
}

// ResolveContext returns the credentials for a repository, or authn.Anonymous if there are none. It may run a credential helper, for at
// most 10 seconds. It returns an error if the helper for the registry fails, or the context's cause.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	found, _, err := k.resolve(ctx, target, 0)
	return found, err
}

// resolve returns the credentials with the given number, and the number of matching credentials. Number 0 is the most specific. Numbers
// wrap around.
func (k *Keychain) resolve(ctx context.Context, target authn.Resource, number int) (authn.Authenticator, int, error) {
	config := k.current(ctx)
	wanted, ok := newWanted(target)
	if !ok {
		return authn.Anonymous, 1, nil
	}
	if name := config.helper(wanted); name != "" {
		found, err := k.ask(ctx, name, wanted)
		if found != nil || err != nil {
			return found, 1, err
		}
	}
	if all := config.all(wanted); len(all) > 0 {
		return authn.FromConfig(all[number%len(all)]), len(all), nil
	}
	found, err := k.resolveFromStore(ctx, config, wanted, target)
	return found, 1, err
}

// resolveFromStore returns the credentials from credsStore, or else, for catalog images, the default ones.
func (k *Keychain) resolveFromStore(ctx context.Context, config *dockerConfig, wanted wanted, target authn.Resource) (authn.Authenticator, error) {
	if config.store != "" {
		if found, err := k.ask(ctx, config.store, wanted); found != nil || ctx.Err() != nil {
			return found, err
		} else if err != nil {
			k.logStoreFailure(ctx, config.store, err)
		}
	}
	if !inCatalog(target.String()) {
		return authn.Anonymous, nil
	}
	found, err := authn.Resolve(ctx, k.options.Default, target)
	if err != nil {
		// The error may contain parts of the file.
		return nil, errors.New("the default docker config is invalid: check it, or add credentials to --registry-auth-secret-path for " + target.String())
	}
	return found, nil
}

// inCatalog reports whether a repository belongs to the function catalog.
func inCatalog(repository string) bool {
	return strings.HasPrefix(repository, reference.CatalogPrefix+"/") || strings.HasPrefix(repository, reference.FormerCatalogPrefix+"/")
}

// logStoreFailure logs a failure of credsStore once. credsStore is used for all registries, most of which need no credentials, so its
// failure must not fail their lookups.
func (k *Keychain) logStoreFailure(ctx context.Context, store string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.failing[store] {
		k.failing[store] = true
		k.options.Log.WarnContext(ctx, "credsStore failed, using no credentials for registries without other credentials", "err", err)
	}
}

// current returns the parsed file, or the last valid one.
func (k *Keychain) current(ctx context.Context) *dockerConfig {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.looked.IsZero() && time.Since(k.looked) < rereadInterval {
		return k.config
	}
	k.looked = time.Now()
	content, err := readFile(k.options.File)
	if err != nil {
		if k.unreadable != err.Error() {
			k.unreadable = err.Error()
			k.options.Log.WarnContext(ctx, "registry credentials cannot be read, using the previous ones", "err", err)
		}
		return k.config
	}
	k.unreadable = ""
	if k.content != nil && bytes.Equal(content, k.content) {
		return k.config
	}
	k.content = content
	config, problems, err := parseDockerConfig(content)
	if err != nil {
		k.options.Log.WarnContext(ctx, "registry credentials are invalid, using the previous ones", "file", k.options.File, "err", err)
		return k.config
	}
	for _, problem := range problems {
		k.options.Log.WarnContext(ctx, "registry credentials have a problem", "file", k.options.File, "problem", problem)
	}
	k.options.Log.InfoContext(ctx, "registry credentials loaded", "file", k.options.File, "entries", len(config.entries), "helpers", len(config.helpers))
	k.config = config
	clear(k.failing)
	return config
}
