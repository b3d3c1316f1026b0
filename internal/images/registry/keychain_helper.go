// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/internal/process"
)

const (
	// helperTimeout is the maximum duration of a credential helper.
	helperTimeout = 10 * time.Second
	// maxHelperOutput is the maximum size of its output in bytes.
	maxHelperOutput = 64 << 10
	// tokenUser is the user name with which a helper returns an identity token.
	tokenUser = "<token>"
)

// ask runs a credential helper. It returns nil if the helper has no credentials for the registry. Errors never contain the helper's
// output.
func (k *Keychain) ask(ctx context.Context, name string, w wanted) (authn.Authenticator, error) {
	select {
	case k.running <- struct{}{}:
		defer func() { <-k.running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	p := &program{ctx: bounded, processes: k.options.Processes, environ: k.options.Environ, argv: []string{"docker-credential-" + name}}
	found, err := client.Get(p.with, w.server())
	switch {
	case err == nil && found.Username == tokenUser:
		return authn.FromConfig(authn.AuthConfig{IdentityToken: found.Secret}), nil
	case err == nil && found.Username == "" && found.Secret == "":
		return nil, nil //nolint:nilnil // not found is not an error
	case err == nil:
		return authn.FromConfig(authn.AuthConfig{Username: found.Username, Password: found.Secret}), nil
	case credentials.IsErrCredentialsNotFound(err):
		return nil, nil //nolint:nilnil // not found is not an error
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case bounded.Err() != nil:
		p.failure = fmt.Errorf("it did not exit within %s", helperTimeout)
	case p.failure == nil:
		p.failure = errors.New("its output is invalid")
	}
	return nil, fmt.Errorf("credential helper %s failed for %s: %w: check credHelpers and credsStore of the docker config, and the helper",
		p.argv[0], w.registry, p.failure)
}

// program implements client.Program for a credential helper. The library's own implementation has no limits on time and output.
type program struct {
	ctx       context.Context //nolint:containedctx // client.Program has no context parameter
	processes *process.Runner
	environ   []string
	argv      []string
	input     bytes.Buffer
	// failure is the reason why the helper failed, without its output.
	failure error
}

func (p *program) with(args ...string) client.Program {
	p.argv = append(p.argv[:1:1], args...)
	return p
}

// Input sets the standard input.
func (p *program) Input(in io.Reader) {
	if _, err := p.input.ReadFrom(in); err != nil {
		p.failure = err
	}
}

// Output runs the helper and returns its standard output.
func (p *program) Output() ([]byte, error) {
	command := process.Command{Argv: p.argv, Env: p.environ, MaxStdout: maxHelperOutput}
	outcome, err := p.processes.Run(p.ctx, command, p.input.Bytes())
	switch {
	case err != nil:
		p.failure = err
	case outcome.Signal != 0:
		p.failure = fmt.Errorf("signal: %v", outcome.Signal)
	case outcome.ExitCode != 0:
		p.failure = fmt.Errorf("exit status %d", outcome.ExitCode)
	}
	return outcome.Stdout, p.failure
}
