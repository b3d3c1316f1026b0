// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"go.starlark.net/starlark"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// testLimits are low, so that scripts reach them before the time limit.
func testLimits() scriptLimits {
	limits := defaultScriptLimits()
	limits.steps = 2_000_000
	limits.memory = 512 << 20
	limits.length = 1000
	limits.output = 1 << 20
	return limits
}

func runScript(ctx context.Context, source string, limits scriptLimits) error {
	items := starlark.NewList([]starlark.Value{starlark.NewDict(1)})
	list := starlark.NewDict(1)
	if err := list.SetKey(starlark.String("items"), items); err != nil {
		return err
	}
	_, err := script{name: "s", source: source, list: list, output: newScriptOutput(io.Discard), limits: limits}.run(ctx)
	return err
}

func TestScriptLimits(t *testing.T) {
	t.Parallel()
	const (
		steps  = "the script uses more than 2000000 steps, which is the limit"
		repeat = "the repetition takes more than 512 MiB of memory, which is the limit"
		items  = "ctx.resource_list['items'][0]['x'] = x"
	)
	for name, test := range map[string]struct{ source, want string }{
		"within limits":           {"x = [i for i in range(1000)] * 10\n" + items, ""},
		"an endless loop":         {"while True:\n  pass", steps},
		"a loop in a call":        {"def f(x):\n  while True:\n    pass\nsorted([2, 1], key=f)", steps},
		"a string, repeated":      {"x = 'a' * 1000000000", repeat},
		"a list, repeated":        {"x = 1000000000 * [0]", repeat},
		"a tuple, repeated":       {"x = (0,)\nx *= 1000000000", repeat},
		"bytes, repeated":         {"x = b'a' * 1000000000", repeat},
		"a huge repeat count":     {"x = 'a' * (1 << 100)", "repeat count 1267650600228229401496703205376 too large"},
		"a big number":            {"x = 3\nwhile True:\n  x *= x", "the product of two numbers has more than 1048576 bits, which is the limit"},
		"a long range":            {"list(range(1001))", "range: 1001 elements, at most 1000 are allowed"},
		"items with shared parts": {"x = ['a' * 100]\nfor i in range(60):\n  x = [x, x]\n" + items, "the items that the script leaves have more than 1 MiB, which is the limit"},
		"a shared big string":     {"x = ['a' * 100000] * 100\n" + items, "the items that the script leaves have more than 1 MiB, which is the limit"},
		"a deep source":           {"x = " + strings.Repeat("(", 100_000), "s:1:82: excessive nesting"},
		"a long source":           {strings.Repeat("#", 300_000), "the script has 300000 bytes, at most 262144 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, functiontest.ErrorText(runScript(t.Context(), test.source, testLimits()))); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestItemsThatContainThemselves(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"x = []\nx.append(x)\n", "x = {}\nx['x'] = x\n"} {
		err := runScript(t.Context(), source+"ctx.resource_list['items'][0]['x'] = x", defaultScriptLimits())
		if want := "the items that the script leaves are nested more than 10000 deep, or contain themselves"; functiontest.ErrorText(err) != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

// scriptsThatGrow allocate memory until they are stopped, each in a different way.
var scriptsThatGrow = map[string]string{
	"a list that grows":      "x = []\nwhile True:\n  x.append('a' * 1000)",
	"a string that doubles":  "x = 'a'\nwhile True:\n  x += x",
	"a list that doubles":    "x = [0]\nwhile True:\n  x = x + x",
	"a list, in place":       "x = [0]\nwhile True:\n  x += x",
	"extend":                 "x = [0]\nwhile True:\n  x.extend(x)",
	"a dict":                 "x = {}\nn = 0\nwhile True:\n  x[n] = None\n  n += 1",
	"a set of texts":         "x = set()\nn = 0\nwhile True:\n  x.add('a' * 1000 + str(n))\n  n += 1",
	"big numbers":            "x = []\nn = 1 << 500\nfor i in range(10):\n  n *= n\nwhile True:\n  x.append(n + len(x))",
	"one huge join":          "x = ['a' * 1000000] * 200\n','.join(x)\nwhile True:\n  pass",
	"a format":               "x = 'a'\nwhile True:\n  x = '%s%s' % (x, x)",
	"a comprehension":        "x = [['a' * 1000 + str(i)] for i in range(10000000)]",
	"a nested comprehension": "x = [[j + i for j in range(1000)] for i in range(1000000)]",
	"a list of calls":        "def f():\n  x = [i + 1 for i in range(100000)]\n  return x\ny = [" + strings.Repeat("f(), ", 1000) + "]",
	"arguments of calls":     "def f(n):\n  return len([n] * 1000000) + f(n + 1)\ndef g(n):\n  return ['a' * 1000 + str(i) for i in range(100)] + g(n + 1)\ng(0)",
	"a recursion":            "def f(n):\n  x = ['a' * 1000 + str(n)]\n  return f(n + 1)\nf(0)",
	"a closure":              "def f(x):\n  def g():\n    return x\n  return g\ny = []\nwhile True:\n  y.append(f('a' * 1000 + str(len(y))))",
	"a shared variable":      "def f():\n  x = []\n  def g():\n    x.append('a' * 1000 + str(len(x)))\n  while True:\n    g()\nf()",
	"keys of a sort":         "x = sorted(range(100000), key=lambda i: 'a' * 1000 + str(i))",
	"growing strings":        "a = 'a' * 1000000\nx = []\nfor i in range(1000):\n  x.append(a + str(i))\nwhile True:\n  pass",
	"growing, in place":      "a = 'a' * 1000000\nx = []\nfor i in range(1000):\n  a += 'b'\n  x.append(a)\nwhile True:\n  pass",
	"tuples in place":        "a = (1,) * 100000\nx = []\nfor i in range(1000):\n  a += (1,)\n  x.append(a)\nwhile True:\n  pass",
	"unions":                 "a = {i: i for i in range(10000)}\nx = []\nfor i in range(1000):\n  x.append(a | {})\nwhile True:\n  pass",
	"differences":            "a = set(range(10000))\nx = []\nfor i in range(1000):\n  x.append(a - set())\nwhile True:\n  pass",
	"slices":                 "a = [1] * 100000\nx = []\nfor i in range(1000):\n  x.append(a[1:])\nwhile True:\n  pass",
	"a format in place":      "a = 'a' * 1000000\nx = []\nfor i in range(1000):\n  a %= ()\n  x.append(a)\nwhile True:\n  pass",
	"a format without verbs": "a = 'a' * 1000000\nx = []\nfor i in range(1000):\n  x.append(a % ())\nwhile True:\n  pass",
	"a method value":         "f = ('a' * 1000000).upper\nx = []\nfor i in range(1000):\n  x.append(f())\nwhile True:\n  pass",
	"a renamed built-in":     "f = list\na = [1] * 100000\nx = []\nfor i in range(1000):\n  x.append(f(a))\nwhile True:\n  pass",
	"parsed values":          "load('encoding/json.star', 'json')\na = '[' + '[],' * 10000 + '1]'\nx = []\nfor i in range(1000):\n  x.append(json.decode(a))\nwhile True:\n  pass",
	"the items":              "while True:\n  ctx.resource_list['items'].append('a' * 1000)",
}

// A script's memory is counted wherever it is reachable, and counting does not run the garbage collector.
func TestScriptMemory(t *testing.T) { //nolint:paralleltest // other tests may run the collector
	limits := defaultScriptLimits()
	// The machine's load must not make the time limit end the scripts.
	limits.memory, limits.time, limits.grace = 8<<20, time.Hour, time.Hour
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, source := range scriptsThatGrow { //nolint:paralleltest // see above
		t.Run(name, func(t *testing.T) {
			err := runScript(t.Context(), source, limits)
			got, want := functiontest.ErrorText(err), "the script uses more than 8 MiB of memory, which is the limit"
			if one := "the result takes more than 8 MiB of memory, which is the limit"; got != want && got != one {
				t.Errorf("error = %v, want %q or %q", err, want, one)
			}
		})
	}
	if runtime.ReadMemStats(&after); after.NumForcedGC != before.NumForcedGC {
		t.Error("the garbage collector ran, want no run")
	}
}

// Values on the interpreter's stack are counted, although no variable refers to them.
func TestMemoryOnTheStack(t *testing.T) {
	t.Parallel()
	thread := &starlark.Thread{}
	m := &meter{thread: thread, limit: 1 << 40}
	var counts []uint64
	count := starlark.NewBuiltin("count", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		counts = append(counts, m.count())
		return starlark.None, nil
	})
	source := "def f(x):\n  return ['a' * 1000000, count()]\ndef g():\n  return ('b' * 1000000, count())\ncount()\nf(0)\ng()\n"
	if _, err := starlark.ExecFileOptions(&dialect, thread, "s", source, starlark.StringDict{"count": count}); err != nil {
		t.Fatal(err)
	}
	const text = 1_000_000
	if len(counts) != 3 || counts[0] >= text || counts[1] < text || counts[2] < text {
		t.Errorf("counts = %v, want less than %d and twice more", counts, text)
	}
}

// Memory of other work in the process, and memory that a script no longer uses, is not counted.
func TestScriptMemoryIsItsOwn(t *testing.T) {
	t.Parallel()
	limits := defaultScriptLimits()
	limits.memory = 1 << 20
	var kept [][]byte
	list := starlark.NewDict(1)
	if err := list.SetKey(starlark.String("items"), starlark.NewList(nil)); err != nil {
		t.Fatal(err)
	}
	other := writer(func() { kept = append(kept, make([]byte, 64<<20)) })
	source := "print('x')\nfor i in range(100000):\n  x = 'a' * 1000 + 'b'\nfor i in range(1000):\n  y = [i] * 1000\n"
	_, err := script{name: "s", source: source, list: list, output: newScriptOutput(other), limits: limits}.run(t.Context())
	if err != nil || len(kept) != 1 {
		t.Errorf("error = %v while other work held %d times 64 MiB, want nil", err, len(kept))
	}
	runtime.KeepAlive(kept)
}

type writer func()

func (w writer) Write(text []byte) (int, error) {
	w()
	return len(text), nil
}

func TestScriptTime(t *testing.T) {
	t.Parallel()
	limits := defaultScriptLimits()
	limits.time = 10 * time.Millisecond
	err := runScript(t.Context(), "while True:\n  pass", limits)
	if want := "the script runs for more than 10ms, which is the limit"; functiontest.ErrorText(err) != want {
		t.Errorf("error = %v, want %s", err, want)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runScript(ctx, "while True:\n  pass", defaultScriptLimits()); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want Canceled", err)
	}
}

func TestScriptRecursion(t *testing.T) {
	t.Parallel()
	err := runScript(t.Context(), "def f():\n  f()\nf()", defaultScriptLimits())
	if want := "Starlark stack overflow"; functiontest.ErrorText(err) != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// If a library call does not return, the script's goroutine continues after the error, until the call returns.
func TestScriptThatDoesNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := testLimits()
		limits.time, limits.grace = time.Second, time.Minute
		callComesBack := make(chan struct{})
		defer close(callComesBack)
		err := limits.watch(t.Context(), &starlark.Thread{}, &meter{}, func() error {
			<-callComesBack
			return nil
		})
		want := "the script runs for more than 1s, which is the limit; it did not stop within 1m0s and still runs"
		if functiontest.ErrorText(err) != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	})
}

func TestScriptPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if value := recover(); value != "oops" {
			t.Errorf("recovered %v, want the panic's value", value)
		}
	}()
	limits := testLimits()
	_ = limits.watch(t.Context(), &starlark.Thread{}, &meter{}, func() error { panic("oops") })
	t.Error("watch() did not panic")
}

// The author of a package cannot reach the network of this process.
func TestScriptsHaveNoNetwork(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method }))
	defer server.Close()
	for _, script := range []string{
		"load('http.star', 'http')\nhttp.get(" + strconv.Quote(server.URL) + ")",
		"load('http.star', 'http')\nhttp.post(url=" + strconv.Quote(server.URL) + ")",
		"load('xlsx.star', 'xlsx')\nxlsx.get_url(" + strconv.Quote(server.URL) + ")",
	} {
		got := withScript(t, script, func(rl *fn.ResourceList) (bool, error) { return runStarlark(t.Context(), rl) })
		if !strings.Contains(got, "functions have no network") || len(asked) > 0 {
			t.Errorf("%s:\n%s", script, got)
		}
	}
}
