// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sandbox

import (
	"errors"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
)

const refusedPrefix = "sandbox refused: "

type sandbox struct{}

func newSandbox(Limits) (*sandbox, error) {
	return nil, &RefusedError{errors.New("only Linux can run images without a container engine"), "name a function runner"}
}

func (*sandbox) command(unpacked.Image, bool) (process.Command, error) {
	return process.Command{}, errors.ErrUnsupported
}

func refusal(err error) error { return err }
