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

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/images/reference"
)

// KeychainOptions are a Keychain's. Zero values mean the defaults.
type KeychainOptions struct {
	// File is the docker config file, of at most 1 MiB.
	File string
	// Default has the credentials for the catalog of functions where the file has none. Default: those of Docker's or
	// Podman's configuration.
	Default authn.Keychain
	// Processes runs credential helpers. One that is given is its owner's to close, and must be given where its Reap runs.
	Processes *process.Runner
	// Environ is the environment of credential helpers. Default: this process's.
	Environ []string
	// Log gets one line for each change of the file, and for what is not understood in it: keys, never values. Default: none.
	Log *slog.Logger
}

// Keychain has the credentials of a docker config file: auths, credHelpers and credsStore. Of auths, the most specific key
// counts, and a Client tries the others that match where a registry refuses it. Keys are matched as the kubelet does, and may
// have a scheme, /v1/ or /v2/, a port, a path, and * within a part of the host's name. A file that changes is in force a
// second later; one that cannot be understood changes nothing.
//
// A helper for the registry comes first, then auths, then the general store; then for the catalog's images Default; then
// nothing. It may be used by any number of goroutines at once.
type Keychain struct {
	options KeychainOptions
	// own is the runner of helpers where it is the keychain's.
	own     *process.Runner
	running chan struct{}

	mu     sync.Mutex
	looked time.Time
	// content is what was last found in the file, understood or not, and unreadable why it could not be read.
	content    []byte
	unreadable string
	config     *dockerConfig
	// failing are the general stores whose failure was logged.
	failing map[string]bool
}

const (
	// reread passes between two looks at a file.
	reread = time.Second
	// maxFile is the most bytes of a file. A Secret can have no more.
	maxFile = 1 << 20
	// maxHelpers is how many credential helpers run at once.
	maxHelpers = 4
)

// NewKeychain returns a keychain. The file is read when it is first used.
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

// Close removes what helpers have needed. The keychain must not be in use.
func (k *Keychain) Close() {
	if k.own != nil {
		k.own.Close()
	}
}

// Resolve is ResolveContext without an end.
func (k *Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), target) //nolint:forbidigo // authn.Keychain wants it; registries' clients call the other.
}

// ResolveContext returns the credentials for a repository, authn.Anonymous where there are none. It takes as long as the
// credential helper, if there is one: at most ten seconds. Errors: the helper for the registry failed; the context's cause.
func (k *Keychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	found, _, err := k.resolve(ctx, target, 0)
	return found, err
}

// resolve returns the credentials with a number, from 0 for the most specific, and how many there are. The numbers begin again
// where there are no more.
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
	found, err := k.resolveElsewhere(ctx, config, wanted, target)
	return found, 1, err
}

// resolveElsewhere returns the credentials of the general store, else for the catalog's images the default ones.
func (k *Keychain) resolveElsewhere(ctx context.Context, config *dockerConfig, wanted wanted, target authn.Resource) (authn.Authenticator, error) {
	if config.store != "" {
		if found, err := k.ask(ctx, config.store, wanted); found != nil || ctx.Err() != nil {
			return found, err
		} else if err != nil {
			k.storeFails(ctx, config.store, err)
		}
	}
	if !ofCatalog(target.String()) {
		return authn.Anonymous, nil
	}
	found, err := authn.Resolve(ctx, k.options.Default, target)
	if err != nil {
		// What is in the error may be what is in the file.
		return nil, errors.New("the default docker config is not understood: check it, or give --registry-auth-secret-path credentials for " + target.String())
	}
	return found, nil
}

// ofCatalog tells whether a repository is one of the catalog of functions.
func ofCatalog(repository string) bool {
	return strings.HasPrefix(repository, reference.CatalogPrefix+"/") || strings.HasPrefix(repository, reference.FormerCatalogPrefix+"/")
}

// storeFails notes that the general store has nothing to say. It is asked for each registry, most of which need no
// credentials, so that its failure must not be theirs.
func (k *Keychain) storeFails(ctx context.Context, store string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.failing[store] {
		k.failing[store] = true
		k.options.Log.WarnContext(ctx, "images are asked for without credentials where only credsStore could have some", "err", err)
	}
}

// current returns what the file says, or has last said.
func (k *Keychain) current(ctx context.Context) *dockerConfig {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.looked.IsZero() && time.Since(k.looked) < reread {
		return k.config
	}
	k.looked = time.Now()
	content, err := readFile(k.options.File)
	if err != nil {
		if k.unreadable != err.Error() {
			k.unreadable = err.Error()
			k.options.Log.WarnContext(ctx, "credentials of registries cannot be read, those read before stay in force", "err", err)
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
		k.options.Log.WarnContext(ctx, "credentials of registries are not understood, those read before stay in force", "file", k.options.File, "err", err)
		return k.config
	}
	for _, problem := range problems {
		k.options.Log.WarnContext(ctx, "a problem in the credentials of registries", "file", k.options.File, "problem", problem)
	}
	k.options.Log.InfoContext(ctx, "credentials of registries loaded", "file", k.options.File, "entries", len(config.entries), "helpers", len(config.helpers))
	k.config = config
	clear(k.failing)
	return config
}
