// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// Help ends the process where the arguments of a command ask for help, with exit code 0, or make no sense, with 2. err is
// that of parsing them.
func Help(name, summary string, set *pflag.FlagSet, err error) {
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Printf("%s\n\nUsage: %s [flags]\n\nFlags:\n%s", summary, name, set.FlagUsages())
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\nRun %s --help for the flags.\n", name, err, name)
		os.Exit(2)
	}
}
