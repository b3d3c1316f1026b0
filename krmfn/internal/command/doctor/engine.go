// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"sync"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/engine"
)

const engineCheck = "engine"

// engines checks the container engines. One that answers is enough.
type engines struct{ program *program.Program }

func (e engines) look(ctx context.Context) finding {
	type answer struct {
		installed, answers bool
		text               string
	}
	answers := make([]answer, len(engine.Names))
	var all sync.WaitGroup
	for i, name := range engine.Names {
		all.Go(func() {
			client, err := engine.Find(name, e.program.Environ)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				answers[i].text = name + " is not installed"
				return
			case err != nil:
				answers[i].text = err.Error()
				return
			}
			answers[i].installed = true
			if err := client.Ping(ctx); err != nil {
				answers[i].text = reason(ctx, err)
				return
			}
			answers[i].answers, answers[i].text = true, name+" answers"+version(ctx, client)
		})
	}
	all.Wait()
	texts := make([]string, 0, len(answers))
	installed, answering := false, false
	for _, a := range answers {
		texts = append(texts, a.text)
		installed, answering = installed || a.installed, answering || a.answers
	}
	f := finding{Check: engineCheck, Status: works, Found: strings.Join(texts, "; ")}
	switch {
	case installed && !answering:
		f.Status, f.Remedy = warning, "start the engine, or let your user use it; the sandbox runs images meanwhile"
	case !answering:
		f.Status, f.Found = warning, "no container engine is installed ("+strings.Join(engine.Names, ", ")+"): the sandbox runs images"
	}
	return f
}

// version returns what an engine calls its version, in parentheses; "" if it does not say.
func version(ctx context.Context, c engine.Client) string {
	cmd := exec.CommandContext(ctx, c.Program, "--version") //nolint:forbidigo // an engine's client is not a function
	cmd.Env = c.Environ
	text, err := cmd.Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if err != nil || line == "" {
		return ""
	}
	return " (" + line + ")"
}
