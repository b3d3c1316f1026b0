// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// secured returns how the function runner is connected to. Errors are failure.Usage.
func (f *Flags) secured() ([]grpc.DialOption, error) {
	options, err := f.secure.DialOptions(f.Address, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, failure.Usage(err)
	}
	return options, nil
}

// explainPlainText replaces the error of a server that hangs up on a client without TLS.
func (f *Flags) explainPlainText(err error) error {
	if f.secure.Files.Authorities == "" && hungUp(err.Error()) {
		return errors.New("it closed the connection, as a function runner with TLS does if --runner-ca is missing")
	}
	return err
}

// hungUp reports whether a server closed the connection without a response. gRPC passes on the reason only as text. Which error
// the client sees depends on how much of the client's data the server had read.
func hungUp(text string) bool {
	return slices.ContainsFunc([]string{"error reading server preface: EOF", syscall.ECONNRESET.Error(), syscall.EPIPE.Error()},
		func(reason string) bool { return strings.Contains(text, reason) })
}
