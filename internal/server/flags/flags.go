// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flags contains what the commands' flags have in common: checks, aliases, defaults from the environment, and groups for help and
// the reference page.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Positive is the requirement of most numeric flags, for That.
const Positive = "more than 0"

// That returns nil if holds is true, or else an error of one line with the flag's value and the requirement. flag has no
// dashes.
func That(holds bool, flag string, value any, want string) error {
	if holds {
		return nil
	}
	return fmt.Errorf("--%s is %q, want %s", flag, fmt.Sprint(value), want)
}

// Check returns one error, in one line, with all problems, so that users see all of them at once. Nil problems are ignored.
// Arguments other than flags are an error.
func Check(args []string, problems ...error) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	var texts []string
	for _, err := range problems {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// Aliases adds aliases for flags. The keys of names are the aliases.
func Aliases(set *pflag.FlagSet, names map[string]string) {
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(names[name], name))
	})
}

// Getenv returns the value of a variable in an environment of "KEY=value" strings, or "" if it is not set. If a key is
// repeated, the last value wins, as in a process.
func Getenv(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value = v
		}
	}
	return value
}
