// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// levelFlag is kpt's flag for log verbosity. In krmfn, its shorthand -v belongs to --verbose.
const levelFlag = "v"

// addKptFlags adds the flags that all of kpt's commands have for its log and for the cluster, hidden. They are read as kpt reads
// them. Those for the log have no effect.
func (p *Program) addKptFlags(set *pflag.FlagSet) {
	hidden := pflag.NewFlagSet("kpt", pflag.ContinueOnError)
	for _, name := range []string{"add-dir-header", "alsologtostderr", "logtostderr", "one-output", "skip-headers", "skip-log-headers"} {
		hidden.Bool(name, false, "")
	}
	for _, name := range []string{"log-backtrace-at", "log-dir", "log-file", "stderrthreshold", "vmodule"} {
		hidden.String(name, "", "")
	}
	hidden.StringVar(&p.kubeconfig, "kubeconfig", "", "")
	hidden.Uint64("log-file-max-size", 0, "")
	hidden.Duration("log-flush-frequency", 5*time.Second, "")
	hidden.Int32(levelFlag, 0, "")
	hidden.VisitAll(func(f *pflag.Flag) { f.Hidden = true })
	set.AddFlagSet(hidden)
}

var level = regexp.MustCompile(`^[0-9]+$`)

// Spelled returns arguments as the flags here are spelled where kpt spells them otherwise: underscores for dashes in names, and -v
// with a number, which is --verbose without.
func Spelled(args []string) []string {
	spelled := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		rest, short := strings.CutPrefix(arg, "-v")
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return append(spelled, args[i:]...)
		case arg == "-v" && i+1 < len(args) && level.MatchString(args[i+1]):
			i++
			arg = "--" + levelFlag + "=" + args[i]
		case short && level.MatchString(strings.TrimPrefix(rest, "=")):
			arg = "--" + levelFlag + "=" + strings.TrimPrefix(rest, "=")
		case strings.HasPrefix(arg, "--"):
			arg = strings.ReplaceAll(name, "_", "-")
			if assigned {
				arg += "=" + value
			}
		}
		spelled = append(spelled, arg)
	}
	return spelled
}
