// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// stackTraceVariable is kpt's variable for --stack-trace.
const stackTraceVariable = "COBRA_STACK_TRACE_ON_ERRORS"

// printError writes a command's error as kpt does. A function that failed has already said why.
func (c *command) printError(code int, err error) {
	text := c.explain(code, err)
	if text == "" {
		return
	}
	title, rest, titled := strings.Cut(text, ":")
	if titled && strings.EqualFold(title, "error") {
		text = c.Err.Style.Red(title+":") + rest
	}
	fmt.Fprintln(c.Err, text)
	if hinted, ok := errors.AsType[*hintError](err); ok {
		fmt.Fprintln(c.Err, hinted.hint)
	}
}

// hintError is an error with a line about what to do, below it.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// traces tells whether errors are shown with all their levels.
func (c *command) traces() bool {
	variable := c.getenv(stackTraceVariable)
	return c.trace || variable == "true" || variable == "1"
}

// oneLine makes text of several lines one. A line is set apart from the next where it has no mark at its end that does.
func oneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case b.Len() == 0:
		case strings.HasSuffix(b.String(), ":"), strings.HasSuffix(b.String(), "."):
			b.WriteString(" ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(line)
	}
	return terminal.Safe(b.String())
}

// safe makes text of several lines harmless.
func safe(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = terminal.Safe(lines[i])
	}
	return strings.Join(lines, "\n")
}
