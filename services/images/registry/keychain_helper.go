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

	"github.com/krmfn/krmfn/services/evaluation/process"
)

const (
	// helperTimeout is the most time that a credential helper takes.
	helperTimeout = 10 * time.Second
	// maxHelperOutput is the most bytes that one writes.
	maxHelperOutput = 64 << 10
	// tokenUser is who a helper calls the user of an identity token.
	tokenUser = "<token>"
)

// ask asks a credential helper. Nil means that it has no credentials for the registry. An error never has anything that the
// helper wrote.
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
		return nil, nil //nolint:nilnil // nothing found is no error
	case err == nil:
		return authn.FromConfig(authn.AuthConfig{Username: found.Username, Password: found.Secret}), nil
	case credentials.IsErrCredentialsNotFound(err):
		return nil, nil //nolint:nilnil // nothing found is no error
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case bounded.Err() != nil:
		p.failure = fmt.Errorf("it did not end within %s", helperTimeout)
	case p.failure == nil:
		p.failure = errors.New("its answer is not understood")
	}
	return nil, fmt.Errorf("credential helper %s failed for %s: %w: check credHelpers and credsStore of the docker config, and the helper",
		p.argv[0], w.registry, p.failure)
}

// program is a credential helper as its client wants one. The client's own would run without a bound.
type program struct {
	ctx       context.Context //nolint:containedctx // the client's interface has none
	processes *process.Runner
	environ   []string
	argv      []string
	input     bytes.Buffer
	// failure is why it did not answer, without what it wrote.
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

// Output runs the helper.
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
