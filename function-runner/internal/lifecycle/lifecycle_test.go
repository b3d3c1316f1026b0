// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the table of states into the documentation")

const (
	document   = "../../../docs/function-pods.md"
	begin, end = "<!-- states:begin -->\n", "<!-- states:end -->"
)

// The documentation contains the table. "go test ./internal/lifecycle -update" writes it.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	documented, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table of states", document)
	}
	want := "\n" + markdown() + "\n"
	if *update {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("the table of states in %s (-want +got):\n%s", document, diff)
	}
}

// markdown returns the table for the documentation.
func markdown() string {
	var b strings.Builder
	b.WriteString("| in state | event | next state | what the function runner does |\n| --- | --- | --- | --- |\n")
	for _, t := range table {
		states := make([]string, len(t.from))
		for i, s := range t.from {
			states[i] = string(s)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.Join(states, ", "), t.event, t.to, t.action)
	}
	return b.String()
}

var events = []Event{Created, Answered, Suspected, Lost, Expired, Kept, Deleted, Broken}

// Each pair of state and event has at most one transition.
func TestTableIsDeterministic(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range table {
		for _, from := range row.from {
			key := string(from) + " " + string(row.event)
			if seen[key] {
				t.Errorf("transition of %s is not unique", key)
			}
			seen[key] = true
		}
	}
}

// A pod that is being deleted stays in state Leaving, and a failed pod can only become Leaving.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := Pod{State: Requested}
		for range 50 {
			before := p
			event := rapid.SampledFrom(events).Draw(t, "event")
			changed := p.Apply(event, errors.New("reason"))
			switch {
			case changed == (p.State == before.State):
				t.Fatalf("Apply(%s) of a %s pod = %v, but the new state is %s", event, before.State, changed, p.State)
			case before.State == Leaving && changed:
				t.Fatalf("Apply(%s) changed a leaving pod to %s", event, p.State)
			case before.State == Failed && changed && p.State != Leaving:
				t.Fatalf("Apply(%s) changed a failed pod to %s", event, p.State)
			case p.State == Ready && !p.Served:
				t.Fatal("Served of a ready pod = false, want true")
			}
		}
	})
}
