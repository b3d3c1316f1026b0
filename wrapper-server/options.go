// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// options are the values of the flags, and the function's command.
type options struct {
	port           int
	maxMessageSize int
	logLevel       int
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
	f := pflag.NewFlagSet("wrapper-server", pflag.ContinueOnError)
	f.SortFlags = false
	flags.Aliases(f, map[string]string{"verbosity": "log-level"}) // Porch's name
	f.IntVar(&o.port, "port", 9446, "port to listen on, on all interfaces")
	f.IntVar(&o.maxMessageSize, "max-request-body-size", 6<<20, "maximum size in bytes of a request, a response, and a function's output")
	f.DurationVar(&o.drain, "drain-timeout", 25*time.Second, "how long to wait for running evaluations after SIGTERM")
	flags.Group(f, "Server")
	f.IntVar(&o.maxConcurrent, "max-concurrent-evaluations", concurrency(memlimit.FromCgroup()), "maximum number of evaluations at once; ten times as many may wait")
	f.Lookup("max-concurrent-evaluations").DefValue = "1 per 128 MiB of the memory limit, from 1 to 8"
	f.IntVar(&o.standby, "standby-processes", 1, "number of standby processes, started before their calls; each answers one call and ends after 30 idle seconds")
	f.BoolVar(&o.worker, "worker", false, "run the function as a worker, one process for many calls, if it speaks the worker protocol")
	flags.Group(f, "Evaluation")
	f.BoolVar(&o.tls, wrapperapi.TLSFlag, false, "accept only connections of function runners, by TLS with a client certificate for "+wrapperapi.RunnerName+", signed by an authority whose fingerprint is in $"+wrapperapi.AuthoritiesVariable)
	f.IntVar(&o.healthPort, wrapperapi.HealthPortFlag, 9448, "with --tls, port of the health service in plain text, for the kubelet")
	flags.Group(f, "TLS")
	f.IntVar(&o.logLevel, "log-level", 2, "log verbosity: 0 for errors, 1 to 3 for one line per evaluation that fails, 4 and above for one line per evaluation (also --verbosity)")
	flags.Group(f, "Logging")
	return f
}

// parse parses the flags, and the command after "--".
func parse(args []string) (options, error) {
	var o options
	set := o.flags()
	set.Usage = func() {}
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	if dash := set.ArgsLenAtDash(); dash > 0 || (dash < 0 && set.NArg() > 0) {
		return options{}, fmt.Errorf("unexpected argument %q: the function's command goes after --", set.Arg(0))
	}
	o.command = set.Args()
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
