// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/internal/server/flags"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	good, bad := flags.That(true, "a", 1, flags.Positive), flags.That(false, "b", -1, flags.Positive)
	for _, tc := range []struct {
		args     []string
		problems []error
		want     string
	}{
		{nil, []error{good, nil}, ""},
		{nil, []error{good, bad, errors.New("c is odd")}, `--b is "-1", want more than 0; c is odd`},
		{[]string{"x", "y"}, []error{bad}, `unexpected argument "x"`},
	} {
		got := ""
		if err := flags.Check(tc.args, tc.problems...); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("Check() = %q, want %q", got, tc.want)
		}
	}
}

// grouped returns a set with two groups. The flags of one group are not next to each other.
func grouped() *pflag.FlagSet {
	set := pflag.NewFlagSet("server", pflag.ContinueOnError)
	set.SortFlags = false
	set.Int("port", 1, "port to listen on")
	flags.Group(set, "Server")
	set.StringArray("name", nil, "a name")
	flags.Group(set, "Names")
	set.Int("workers", 7, "number of workers")
	set.Lookup("workers").DefValue = "1 per CPU"
	flags.Group(set, "Server")
	return set
}

func TestText(t *testing.T) {
	t.Parallel()
	want := `Serves.

Usage: server [flags]

Server:
      --port int      port to listen on (default 1)
      --workers int   number of workers (default 1 per CPU)

Names:
      --name stringArray   a name
`
	if diff := cmp.Diff(want, flags.Text("Serves.", "server [flags]", grouped())); diff != "" {
		t.Errorf("Text() (-want +got):\n%s", diff)
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	want := "### Server\n\n| flag | default | |\n| --- | --- | --- |\n" +
		"| `--port` | `1` | port to listen on |\n| `--workers` | `1 per CPU` | number of workers |\n\n" +
		"### Names\n\n| flag | default | |\n| --- | --- | --- |\n| `--name` |  | a name |\n\n"
	if diff := cmp.Diff(want, flags.Reference(grouped())); diff != "" {
		t.Errorf("Reference() (-want +got):\n%s", diff)
	}
}

func TestAliases(t *testing.T) {
	t.Parallel()
	set := pflag.NewFlagSet("a", pflag.ContinueOnError)
	runner := set.String("runner", "", "")
	flags.Aliases(set, map[string]string{"function-runner": "runner"})
	if err := set.Parse([]string{"--function-runner=a:1"}); err != nil || *runner != "a:1" {
		t.Errorf("--function-runner = %q, error %v", *runner, err)
	}
}

func TestGetenv(t *testing.T) {
	t.Parallel()
	environ := []string{"A=1", "AB=2", "A=3=4", "C"}
	for key, want := range map[string]string{"A": "3=4", "AB": "2", "B": "", "C": ""} {
		if got := flags.Getenv(environ, key); got != want {
			t.Errorf("Getenv(%s) = %q, want %q", key, got, want)
		}
	}
}
