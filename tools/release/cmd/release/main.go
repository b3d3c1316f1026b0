// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command release makes releases of krmfn and publishes them. It needs the go command and git; only publishing needs a
// registry.
//
// Usage:
//
//	release build [flags] -- [NAME=VALUE...] go build FLAG...
//	release publish [flags]
//	release provenance [flags]
//	release require [flags] MODULE...
//	release tags [flags]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const commands = "build, publish, provenance, require and tags"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run runs the subcommand that the arguments begin with.
func run(ctx context.Context, args []string, getenv func(string) string, w io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command: it is one of " + commands)
	}
	switch args[0] {
	case "build":
		return build(ctx, args[1:], getenv, w)
	case "publish":
		return publish(ctx, args[1:], w)
	case "provenance":
		return provenance(args[1:], getenv)
	case "require":
		return require(args[1:])
	case "tags":
		return tags(args[1:], w)
	}
	return fmt.Errorf("%q is no command: it is one of %s", args[0], commands)
}
