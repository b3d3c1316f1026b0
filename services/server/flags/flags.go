// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flags is what the commands share about their flags: checks, other names, the environment that gives defaults, and the
// page that documents them.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Positive is what most flags should be.
const Positive = "more than 0"

// That returns an error of one line, which says what a flag is set to and what it should be, unless something holds of it. The
// flag is named without dashes.
func That(holds bool, flag string, value any, want string) error {
	if holds {
		return nil
	}
	return fmt.Errorf("--%s is %q, want %s", flag, fmt.Sprint(value), want)
}

// Check returns one error of one line that names every problem, so that one start tells all; nil ones do not count. A command
// takes no arguments but flags.
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

// Aliases makes a set accept flags by other names, which are the keys.
func Aliases(set *pflag.FlagSet, names map[string]string) {
	set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(names[name], name))
	})
}

// Getenv returns the value of a variable in an environment, "KEY=value" each; "" if it is not set. As in a process, the last of
// several counts.
func Getenv(environ []string, key string) string {
	value := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			value = v
		}
	}
	return value
}

// Reference returns the page, in Markdown, that documents a command's flags by what they say of themselves: a title, how the
// page is made, what else there is to say, and a table. defaults are the words for those that differ from machine to
// machine.
func Reference(set *pflag.FlagSet, generate, text string, defaults map[string]string) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# Flags of %s\n\nThis page is generated from the flags: `%s`.\n\n%s\n\n| flag | default | |\n| --- | --- | --- |\n",
		set.Name(), generate, text)
	set.VisitAll(func(f *pflag.Flag) {
		value, given := defaults[f.Name]
		if !given && f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&page, "| `--%s` | %s | %s |\n", f.Name, value, f.Usage)
	})
	return page.String()
}
