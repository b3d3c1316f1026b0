// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	module "github.com/kptdev/krm-functions-catalog/functions/go/starlark/starlark"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// TestStarlarkMatchesTheCatalog compares the output with that of the catalog's implementation, byte for byte, for scripts within
// the limits.
func TestStarlarkMatchesTheCatalog(t *testing.T) {
	t.Parallel()
	const item = "item = ctx.resource_list['items'][0]\n"
	for _, script := range []string{
		// Unchanged items.
		"pass",
		"items = ctx.resource_list['items']\nctx.resource_list['items'] = items + items",
		item + "item['again'] = ctx.resource_list['items'][1]",

		// Values of items.
		"ctx.resource_list['items'].pop()",
		"ctx.resource_list.pop('items')",
		"ctx.resource_list['items'] = None",
		"ctx.resource_list['items'] = []",
		"ctx.resource_list['items'] = 'a'",
		"ctx.resource_list['items'] = ['a']",
		"ctx.resource_list['items'] = [1]",
		"ctx.resource_list['items'] = [None]",
		"ctx.resource_list['items'] = [[]]",
		"ctx.resource_list['items'] = [{}]",
		"ctx.resource_list['items'] = {}",
		"ctx.resource_list['items'] = 3",
		"ctx.resource_list['items'] = ({'kind': 'a'},)",
		"ctx.resource_list['functionConfig'] = {}",
		"ctx.resource_list['results'] = [1]",
		"ctx.resource_list[1] = 2",
		"ctx.resource_list = 1",

		// Values.
		item + "item['x'] = [1, 2.5, 1.0, (1, 'a'), None, True, {'z': 1, 'a': 2}]",
		item + "item['x'] = [1e30, 1e-7, 123456789.0, 1.5e300, 0.1, 100000000000000000000.0, 1e20, 1e21]",
		item + "item['x'] = [float('nan'), float('inf'), float('-inf'), -0.0]",
		item + "item['x'] = {1: 2, 'a': 3, None: 4, 2.5: 1, True: 0}",
		item + "item['x'] = {'b10': 2, 'b9': 3, 'B': 4, '': 1, 'é': 1, '~': 2, 'a/b': 1, 'a.b': 3, 'a-b': 1}",
		item + "item['x'] = ['multi\\nline\\n', 'a: b\\n  c', ' x\\ny', 'x \\ny', '\\n', '\\t', '#x', 'a #x', '@x', \"it's\", '\"q\"']",
		item + "item['x'] = ['yes', 'on', 'null', '~', '1', '0x1', '1_000', '2020-01-01', '12:30', '', ' ', '- a', '*a', '&a']",
		item + "item['x'] = 'word ' * 60",
		item + "item['kind'] = None",
		item + "item['x'] = 1 << 100",

		// The language.
		"for i in range(3):\n  x = i\nif x == 2:\n  x = 5\nwhile x < 9:\n  x += 1\n" +
			"def f(n):\n  return 1 if n == 0 else n * f(n - 1)\n" + item + "item['x'] = [f(x), len(set([1, 1]))]",
		item + "x = [1]\nx *= 2\ny = [0]\ny += (5,)\nitem['x'] = ['a' * 3 + 3 * 'b', x * 2, (1,) * 2, 3 * 4 * 5.0 + 2 * 3.5, y, -2 * 'a']",
		item + "x = [1]\ny = x\nx += [2]\ny += 'ab'.elems()\nitem['x'] = [x, y]",
		item + "item['x'] = [str(range), str(range(3)), type(range), range(3) == range(0, 3), 2 in range(3)]",
		"x = 1 * 'a' * []", "x = {} * 2", "x = [] * 'a'", "x = None\nx *= 3", "x = 1 + 'a'", "x = 1\nx += 'a'",
		"x = []\nx += 1",
		"foo", "x = (", "def f(:\n pass", "struct(a=1)", "f'x'", "ctx.foo", "ctx['foo']", "{}['a']", "[1][3]",
		"fail('m', 3)", "1 // 0", "int('x')", "range(1, 2, 0)", "range('a')", "range()",

		// Modules.
		"load('foo.star', 'foo')",
		"load('csv.star', 'csv')",
		"load('html.star', 'html')", "load('bsoup.star', 'bsoup')", "load('geo.star', 'geo')", "load('xlsx.star', 'xlsx')",
		"load('zipfile.star', 'ZipFile')", "load('http.star', 'http')",
		"load('math.star', 'math')\n" + item + "item['x'] = [math.pi, math.floor(2.5)]",
		"load('encoding/json.star', 'json')\n" + item + "item['x'] = json.encode({'a': [1, 2.0, None]})",
		"load('encoding/yaml.star', 'yaml')\n" + item + "item['x'] = yaml.dumps({'a': [1, 2.0, None]})",
		"load('encoding/base64.star', 'base64')\n" + item + "item['x'] = base64.encode('abc')",
		"load('encoding/csv.star', 'csv')\n" + item + "item['x'] = csv.read_all('a,b\\nc,d')",
		"load('time.star', 'time')\n" + item + "item['x'] = time.from_timestamp(1000)",
		"load('time.star', 'time')\n" + item + "item['x'] = str(time.second * 3)",
		"load('re.star', 're')\n" + item + "item['x'] = re.findall('a', 'banana')",
		"load('hash.star', 'hash')\n" + item + "item['x'] = hash.md5('a')",
		"load('krmfn.star', 'krmfn')\nitems = ctx.resource_list['items']\n" +
			"ctx.resource_list['items'] = [r for r in items if krmfn.match_gvk(r, 'apps/v1', 'Deployment')]",
		"load('krmfn.star', 'krmfn')\n" + item + "item['x'] = [krmfn.match_name(item, 'd'), krmfn.match_namespace(item, 'n')]",
		"load('krmfn.star', 'krmfn')\nkrmfn.match_name(1)",

		// The rest of ctx.
		item + "item['x'] = ctx.resource_list['functionConfig']['data']['param']",
		item + "item['x'] = ctx.open_api['definitions']['io.k8s.api.core.v1.Pod']['type']",
		item + "item['x'] = [ctx.resource_list['apiVersion'], ctx.resource_list['kind'], type(ctx.environment)]",
	} {
		want := withScript(t, script, module.Process) // not in parallel, because it writes package variables
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			got := withScript(t, script, func(rl *fn.ResourceList) (bool, error) { return runStarlark(t.Context(), rl) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output (-catalog +ours):\n%s", diff)
			}
		})
	}
}

const scriptItems = `items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: d
    namespace: "n"
    annotations: {one: "1", hash: 'x # y', yes: "yes", empty: ""} # comment
  spec:
    scalars: [on, 1.0, 1e3, 012, 0x1F, .5, ~, 2.50, 12:30:45, 1_000, -0.0, .inf, 9223372036854775807]
    literal: |
      a
      b
    stripped: |-
      a
       b
    folded: >-
      folded
      text
    escapes: "a\tb\n\n"
    unicode: "é\u0001 \U0001F600"
    spaces: ["trailing ", " lead", "a: b", "- a"]
    none: []
    nested: [[1, 2], [a, [b]], {}]
    10: ten
    a10: 1
    a9: 2
    A1: 3
    keys: {1: a, b: c, true: x, "on": y}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: c
  data: {k: &shared v, l: *shared}
`

// withScript runs process with a script and returns its output and error as text.
func withScript(t *testing.T, source string, process func(*fn.ResourceList) (bool, error)) string {
	t.Helper()
	rl, err := fn.ParseResourceList([]byte(functiontest.Head + scriptItems + "functionConfig:\n" + scriptConfig(t, source)))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := process(rl)
	text, printErr := rl.ToYAML()
	return fmt.Sprintf("%s\n%v, %v, %v", text, ok, err, printErr)
}

// scriptConfig returns an indented functionConfig with a script.
func scriptConfig(t *testing.T, source string) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "script"},
		"data":       map[string]any{"source": source, "param": "p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return functiontest.Indent(string(text))
}
