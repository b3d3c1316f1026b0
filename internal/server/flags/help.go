// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// Help handles err, the error of parsing a command's arguments. For a help request, it prints the help and exits with code 0.
// For any other error, it prints the error and exits with code 2.
func Help(name, summary string, set *pflag.FlagSet, err error) {
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Print(Text(summary, name+" [flags]", set))
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\nRun %s --help for the flags.\n", name, err, name)
		os.Exit(2)
	}
}
