// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// misunderstood words the error of a command line that is wrong, on one line: what it may have meant, and where to read on.
func misunderstood(cmd *cobra.Command, err error) error {
	meant := ""
	var unknown, parent string
	if flag, ok := errors.AsType[*pflag.NotExistError](err); ok {
		meant = similarFlag(cmd, flag.GetSpecifiedName())
	} else if n, _ := fmt.Sscanf(err.Error(), "unknown command %q for %q", &unknown, &parent); n == 2 {
		meant = similarCommand(cmd, unknown)
	}
	if meant != "" {
		return fmt.Errorf("%w: did you mean %s? See %s --help", err, meant, cmd.CommandPath())
	}
	return fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())
}

func similarCommand(parent *cobra.Command, name string) string {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return failure.Similar(name, names)
}

// similarFlag looks among the flags that the help shows. One letter is similar to too many.
func similarFlag(cmd *cobra.Command, name string) string {
	if len(name) < 2 {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return failure.Similar("--"+name, names)
}
