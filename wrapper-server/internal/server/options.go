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

	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// options are the values of the flags, and the function's command.
type options struct {
	port           int
	maxMessageSize int
	verbosity      int
	maxConcurrent  int
	standby        int
	worker         bool
	tls            bool
	healthPort     int
	drain          time.Duration
	command        []string
}

// flags returns a flag set for o, and sets o to the defaults.
func (o *options) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("wrapper-server", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.IntVar(&o.port, "port", 9446, "port to listen on, on all interfaces")
	flags.IntVar(&o.maxMessageSize, "max-request-body-size", 6<<20, "maximum size in bytes of a request, a response, and a function's output")
	flags.IntVar(&o.verbosity, "verbosity", 2, "log verbosity: 0 for errors, 1 for warnings, 2 and 3 for one line per evaluation that fails, 4 and above for one line per evaluation")
	flags.IntVar(&o.maxConcurrent, "max-concurrent-evaluations", concurrency(memlimit.FromCgroup()), "maximum number of evaluations at once; ten times as many may wait")
	flags.IntVar(&o.standby, "standby-processes", 1, "number of standby processes, started before their calls; each answers one call and ends after 30 idle seconds")
	flags.BoolVar(&o.worker, "worker", false, "run the function as a worker, one process for many calls, if it speaks the worker protocol")
	flags.BoolVar(&o.tls, wrapperapi.TLSFlag, false, "accept only connections of function runners, by TLS with a client certificate for "+wrapperapi.RunnerName+", signed by an authority whose fingerprint is in $"+wrapperapi.AuthoritiesVariable)
	flags.IntVar(&o.healthPort, wrapperapi.HealthPortFlag, 9448, "with --tls, port of the health service in plain text, for the kubelet")
	flags.DurationVar(&o.drain, "drain-timeout", 25*time.Second, "how long to wait for running evaluations after SIGTERM")
	return flags
}

// parse parses the flags, and the command after "--".
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
		return options{}, fmt.Errorf("unexpected argument %q: the function's command goes after --", flags.Arg(0))
	}
	o.command = flags.Args()
	return o, o.validate()
}

func (o options) validate() error {
	switch {
	case len(o.command) == 0:
		return errors.New("the function's command is missing: add it after --")
	case o.port < 0 || o.port > 65535:
		return fmt.Errorf("--port is %d, want 0 to 65535", o.port)
	case o.healthPort < 0 || o.healthPort > 65535:
		return fmt.Errorf("--%s is %d, want 0 to 65535", wrapperapi.HealthPortFlag, o.healthPort)
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
