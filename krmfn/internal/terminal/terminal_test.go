// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package terminal_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

func TestColoured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mode     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		"a terminal":               {mode: "auto", terminal: true, want: true},
		"no terminal":              {mode: "auto"},
		"NO_COLOR":                 {mode: "auto", terminal: true, env: map[string]string{"NO_COLOR": "1"}},
		"never":                    {mode: "never", terminal: true},
		"always":                   {mode: "always", want: true},
		"always outdoes NO_COLOR":  {mode: "always", env: map[string]string{"NO_COLOR": "1"}, want: true},
		"an empty NO_COLOR is off": {mode: "auto", terminal: true, env: map[string]string{"NO_COLOR": ""}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := terminal.Stream{Writer: io.Discard}
			if tc.terminal {
				s.Width = func() int { return 80 }
			}
			s, err := s.Coloured(tc.mode, func(key string) string { return tc.env[key] })
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Style.Red("x") != "x"; got != tc.want {
				t.Errorf("colours: %v, want %v", got, tc.want)
			}
		})
	}
	if _, err := (terminal.Stream{}).Coloured("blue", nil); err == nil || !strings.Contains(err.Error(), `"blue"`) {
		t.Errorf("got %v for an unknown mode", err)
	}
}

func TestFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if terminal.NewStream(file, "xterm").IsTerminal() {
		t.Error("a file passes for a terminal")
	}
}

func TestSafe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext ü":      "plain\ttext ü",
		"\x1b]0;title\x07":   "�]0;title�",
		"a\rb\nc":            "a�b�c",
		"bad \xff, \u009bc1": "bad �, �c1",
		"\u202agood\u202e":   "�good�",
		"\u2066a\u2069b":     "�a�b",
		"\u200ea\u200fb":     "�a�b",
		"\u061ca, \u200cb":   "�a, \u200cb",
	} {
		if got := terminal.Safe(text); got != want {
			t.Errorf("Safe(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{-1: "", 0: "", 1: "…", 3: "äb…", 4: "äbcd", 9: "äbcd"} {
		if got := terminal.Fit("äbcd", columns); got != want {
			t.Errorf("Fit to %d: %q, want %q", columns, got, want)
		}
	}
}

func TestFitMiddle(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{-1: "", 0: "", 1: "…", 2: "ä…", 3: "ä…f", 4: "äb…f", 5: "äb…ef", 6: "äbcdef", 9: "äbcdef"} {
		if got := terminal.FitMiddle("äbcdef", columns); got != want {
			t.Errorf("FitMiddle to %d: %q, want %q", columns, got, want)
		}
	}
}

func TestSeverityColours(t *testing.T) {
	t.Parallel()
	s, err := terminal.Stream{}.Coloured(terminal.Always, nil)
	if err != nil {
		t.Fatal(err)
	}
	style := s.Style
	for severity, want := range map[string]string{"error": style.Red("x"), "warning": style.Yellow("x"), "info": style.Cyan("x"), "": style.Cyan("x")} {
		if got := style.Severity(severity, "x"); got != want {
			t.Errorf("%s: %q, want %q", severity, got, want)
		}
	}
	if style.Bold("") != "" {
		t.Error("no text has a colour")
	}
}
