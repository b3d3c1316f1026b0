// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"
)

// options are the flags of the server and the function's command.
type options struct {
	port           int
	maxMessageSize int
	verbosity      int
	maxConcurrent  int
	standby        int
	worker         bool
	drain          time.Duration
	command        []string
}

// flags returns the flags that set o, and sets o to their defaults.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("wrapper-server", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.IntVar(&o.port, "port", 9446, "port to listen on, on all interfaces")
	flags.IntVar(&o.maxMessageSize, "max-request-body-size", 6<<20, "most bytes of a request, a response, and a function's output")
	flags.IntVar(&o.verbosity, "verbosity", 2, "0 logs errors, 1 warnings, 2 and 3 one line per evaluation, 4 and more debugging")
	flags.IntVar(&o.maxConcurrent, "max-concurrent-evaluations", concurrency(memlimit.FromCgroup()), "how many evaluations run at once; ten times as many may wait")
	flags.IntVar(&o.standby, "standby-processes", 1, "how many processes of the function are started ahead of their calls; each answers one call, and ends when none comes for 30 seconds")
	flags.BoolVar(&o.worker, "worker", false, "run the function as a worker, one process for many calls, if it says that it is one")
	flags.DurationVar(&o.drain, "drain-timeout", 25*time.Second, "how long running evaluations may take to finish after SIGTERM")
	return flags
}

// parse reads the flags and the command behind "--".
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := o.flags()
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: wrapper-server [flags] -- ENTRYPOINT [ARG...]\n%s", flags.FlagUsages())
	}
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if dash := flags.ArgsLenAtDash(); dash > 0 || (dash < 0 && flags.NArg() > 0) {
		return options{}, fmt.Errorf("unexpected argument %q, the function's command goes behind --", flags.Arg(0))
	}
	o.command = flags.Args()
	return o, o.validate()
}

func (o options) validate() error {
	switch {
	case len(o.command) == 0:
		return errors.New("the function's command is missing, give it behind --")
	case o.port < 0 || o.port > 65535:
		return fmt.Errorf("--port is %d, want 0 to 65535", o.port)
	case o.maxMessageSize <= 0:
		return fmt.Errorf("--max-request-body-size is %d, want more than 0", o.maxMessageSize)
	case o.maxConcurrent <= 0:
		return fmt.Errorf("--max-concurrent-evaluations is %d, want more than 0", o.maxConcurrent)
	case o.standby < 0:
		return fmt.Errorf("--standby-processes is %d, want 0 or more", o.standby)
	case o.drain <= 0:
		return fmt.Errorf("--drain-timeout is %v, want more than 0", o.drain)
	}
	return nil
}
