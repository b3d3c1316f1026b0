// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/generated"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

var update = flag.Bool("update", false, "write the picture anew")

// The picture in the checkout is up to date with the demo.
func TestPicture(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := binaries.Build(t.Context(), bin, binaries.FunctionRunner, binaries.Krmfn, binaries.Functions); err != nil {
		t.Fatal(err)
	}
	got, err := draw(t.Context(), root, bin)
	if err != nil {
		t.Fatal(err)
	}
	generated.Check(t, filepath.Join(root, picture), string(got), *update, "run this test with -update")
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ output, want string }{
		"lines":        {"a\r\nb", "a|b"},
		"written over": {"abc\rx", "xbc"},
		"cleared":      {"abc\r\x1b[Kx", "x"},
		"styles":       {"\x1b[32mok\x1b[0m no", `<span class="term-fg32">ok</span> no`},
		"an empty one": {"a\r\n\r\nb", "a||b"},
		"HTML":         {"<a/b> & \"c\"", "&lt;a/b&gt; &amp; &quot;c&quot;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := joined(parse([]byte(tc.output)), "|"); got != tc.want {
				t.Errorf("parse() = %s, want %s", got, tc.want)
			}
		})
	}
}

func joined(lines []line, separator string) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = string(l)
	}
	return strings.Join(texts, separator)
}

// written converts text to the form in which programs write it to a terminal.
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
	lines, err := scene(parse(written(shown)))
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
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(joined(lines, "\n"), "\n")); diff != "" {
		t.Errorf("scene() (-want +got):\n%s", diff)
	}
}

func TestSceneOfAnotherDemo(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"--- a/config.yaml", "files changed"} {
		if _, err := scene(parse(written(strings.ReplaceAll(shown, left, "")))); err == nil {
			t.Errorf("scene() without %q succeeded, want an error", left)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	dots := strings.Repeat(".", columns)
	for name, tc := range map[string]struct{ in, want line }{
		"a line that fits":     {line(dots), line(dots)},
		"a line that does not": {line(`<span class="a">&lt;b&gt;</span>` + dots), line(`<span class="a">&lt;b&gt;</span>` + dots[:columns-4] + "…")},
		"a character of HTML":  {line("&amp;" + dots), line("&amp;" + dots[:columns-2] + "…")},
	} {
		if got := tc.in.fit(); got != tc.want {
			t.Errorf("%s: fit() = %s, want %s", name, got, tc.want)
		}
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	got := string(svg(parse(written("\x1b[32m<ok>\x1b[0m a b  c\n\n  ⋮"))))
	for _, want := range []string{
		`<text x="16" y="29" textLength="85.8"><tspan class="term-fg32">&lt;ok&gt;</tspan> a b  c</text>`,
		`<text x="31.6" y="65" textLength="7.8">⋮</text>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("svg() lacks %s:\n%s", want, got)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(got))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("svg() is not valid XML: %v", err)
	}
}

func TestOnTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := onTerminal(t.Context(), dir, "sh", "-c", "test -t 1 && echo $TERM; pwd")
	if want := "xterm\r\n" + dir + "\r\n"; err != nil || string(out) != want {
		t.Errorf("onTerminal() = %q, %v, want %q", out, err, want)
	}
	for name, tc := range map[string]struct{ script, want string }{
		"a program that fails":          {"echo the reason; exit 3", "exit status 3: …the reason"},
		"a program that writes forever": {"yes", "more than"},
	} {
		if _, err := onTerminal(t.Context(), dir, "sh", "-c", tc.script); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: onTerminal() error = %v, want %q", name, err, tc.want)
		}
	}
}
