// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

var update = flag.Bool("update", false, "write the picture anew")

// The picture in the checkout is that of the demo in the checkout.
func TestPicture(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := binaries.Build(t.Context(), bin, binaries.FunctionRunner, binaries.Krmfn, binaries.Functions, binaries.FunctionsLight); err != nil {
		t.Fatal(err)
	}
	got, err := draw(t.Context(), root, bin)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, picture)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s is not what the demo shows, run this test with -update (-there +shown):\n%s", picture, diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		output, want, err string
	}{
		"lines":               {output: "a\r\nb", want: "a|b"},
		"one below the other": {output: "a\nb", want: "a| b"},
		"written over":        {output: "abc\rx", want: "xbc"},
		"cleared":             {output: "abc\r\x1b[Kx", want: "x"},
		"cleared to the end":  {output: "abc\x1b[K", want: "abc"},
		"styles":              {output: "\x1b[32mok\x1b[0m no", want: "<green>ok<> no"},
		"other escapes":       {output: "\x1b[2J", err: `"[2J"`},
		"a cut escape":        {output: "\x1b[3", err: `"[3"`},
		"other styles":        {output: "\x1b[45m", err: `"[45m"`},
		"control characters":  {output: "a\bc", err: "U+0008"},
		"no text":             {output: "\xff", err: "U+FFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, err := parse([]byte(tc.output))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got error %v, want %s", err, tc.err)
				}
				return
			}
			if got := marked(lines); err != nil || got != tc.want {
				t.Errorf("got %s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// marked writes lines with their styles.
func marked(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteString("|")
		}
		style := ""
		for _, c := range l {
			if c.style != style {
				style = c.style
				b.WriteString("<" + style + ">")
			}
			b.WriteRune(c.char)
		}
	}
	return b.String()
}

// written is text as programs on a terminal write it.
func written(text string) []byte { return []byte(strings.ReplaceAll(text, "\n", "\r\n")) }

const shown = `

# starts
$ function-runner --config=/tmp/krmfn-demo-17/config.yaml --functions=/var/tmp/krmfn-demo-17/functions
$ krmfn --runner 127.0.0.1:40123
  ✓ a:v1   1.2s
      info one
  ✓ b:v1   0s
      info one
      info two
      info three
FUNCTION   TIME    RESULTS
a:v1       1.2s    1 info
b:v1       0s
--- a/Kptfile
+status
--- a/config.yaml
+data
--- a/other.yaml
+other
3 files changed: 3 modified.

`

func TestScene(t *testing.T) {
	t.Parallel()
	lines, err := parse(written(shown))
	if err != nil {
		t.Fatal(err)
	}
	lines, err = scene(lines)
	if err != nil {
		t.Fatal(err)
	}
	want := `$ make demo

# starts
$ function-runner --config=/tmp/demo/config.yaml --functions=/tmp/demo/functions
$ krmfn --runner 127.0.0.1:9445
  ✓ a:v1   10ms
      info one
  ✓ b:v1   10ms
      info one
      ⋮
FUNCTION   TIME   RESULTS
a:v1       10ms   1 info
b:v1       10ms
⋮
--- a/config.yaml
+data
⋮
3 files changed: 3 modified.`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(strings.ReplaceAll(marked(lines), "|", "\n"), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSceneOfAnotherDemo(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"--- a/config.yaml", "files changed"} {
		lines, err := parse(written(strings.ReplaceAll(shown, left, "")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scene(lines); err == nil {
			t.Errorf("no error without %s", left)
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	lines, err := parse(written("\x1b[32m<ok>\x1b[0m a b  c\n\n" + strings.Repeat("x", columns+1)))
	if err != nil {
		t.Fatal(err)
	}
	got := string(svg(tidy(lines)))
	for _, want := range []string{
		`<text class="green" x="16" y="29" textLength="31.2">&lt;ok&gt;</text>`,
		`<text x="55" y="29" textLength="23.4">a b</text>`,
		`<text x="94" y="29" textLength="7.8">c</text>`,
		`<text x="16" y="83" textLength="7.8">x</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
	decoder := xml.NewDecoder(bytes.NewReader([]byte(got)))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the picture is no XML: %v", err)
	}
}

func TestOnTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := onTerminal(t.Context(), dir, "sh", "-c", "test -t 1 && echo $TERM; pwd")
	if want := "xterm\r\n" + dir + "\r\n"; err != nil || string(out) != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
	for name, tc := range map[string]struct{ script, want string }{
		"a program that fails":          {"echo the reason; exit 3", "exit status 3: …the reason"},
		"a program that writes forever": {"yes", "more than"},
	} {
		if _, err := onTerminal(t.Context(), dir, "sh", "-c", tc.script); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}
