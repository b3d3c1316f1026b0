// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package flags checks the flags of commands and documents them, in one way for all.
package flags

import (
	"errors"
	"fmt"
	"strings"
)

// Positive is what a Rule wants that most flags want.
const Positive = "more than 0"

// Rule is one thing that must hold of a flag.
type Rule struct {
	holds bool
	flag  string
	value any
	want  string
}

// That returns the rule that something holds of a flag, which is named without dashes, with the value that it is set to.
// want says what it should be.
func That(holds bool, flag string, value any, want string) Rule {
	return Rule{holds: holds, flag: flag, value: value, want: want}
}

// Check returns one error of one line that names every flag which is wrong, so that one start tells all. more are problems
// of a command's own, with the others; nil ones do not count. A command takes no arguments but flags.
func Check(args []string, rules []Rule, more ...error) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	var problems []string
	for _, r := range rules {
		if !r.holds {
			problems = append(problems, fmt.Sprintf("--%s is %q, want %s", r.flag, fmt.Sprint(r.value), r.want))
		}
	}
	for _, err := range more {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}
