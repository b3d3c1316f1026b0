// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// bomb returns a base64 zip archive of files with zeros.
func bomb(t *testing.T, files, size int) string {
	t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	for range files {
		file, err := archive.Create("zeros")
		if err == nil {
			_, err = file.Write(make([]byte, size))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes())
}

// Calls and operations whose results are far larger than their operands fail before they allocate memory.
func TestProductsAreBounded(t *testing.T) { //nolint:paralleltest // it measures allocations
	const (
		call   = "the result takes more than 32 MiB of memory, which is the limit"
		deep   = "the value is nested more than 10000 deep"
		shared = "x = ['a']\nfor i in range(60):\n  x = [x, x]\n"
		nested = "x = []\nfor i in range(20000):\n  x = [x]\n"
		big    = "a = 'a' * 1000000\n"
	)
	for name, test := range map[string]struct{ source, want string }{ //nolint:paralleltest // see above
		"replace":                 {big + "a.replace('a', a)", call},
		"replace of \"\"":         {big + "a.replace('', a)", call},
		"replace, called later":   {big + "f = a.replace\nf('a', a)", call},
		"replace by getattr":      {big + "getattr(a, 'replace')('a', a)", call},
		"replace in a sort key":   {big + "sorted([1], key=lambda i: a.replace('a', a))", call},
		"join":                    {big + "a.join(['b'] * 1000)", call},
		"join of shared strings":  {big + "''.join([a] * 1000)", call},
		"format":                  {big + "('{0}' * 1000).format(a)", call},
		"format with names":       {big + "('{a}' * 1000).format(a=a)", call},
		"format of shared values": {shared + "'{}'.format(x)", call},
		"split":                   {big + "a.split('a')", call},
		"splitlines":              {"('\\n' * 4000000).splitlines()", call},
		"%":                       {big + "b = a[1:]\n('%s' * 100) % (" + strings.Repeat("b, ", 100) + ")", call},
		"% with names":            {big + "('%(a)s' * 1000) % {'a': a}", call},
		"%=":                      {big + "x = '%(a)s' * 1000\nx %= {'a': a}", call},
		"% of shared values":      {shared + "'%s' % x", call},
		"% of one shared value":   {shared + "'%s' % (x,)", call},
		"str":                     {shared + "str(x)", call},
		"str of a nested list":    {nested + "str(x)", deep},
		"repr":                    {shared + "repr(x)", call},
		"print":                   {shared + "print(x)", call},
		"fail":                    {shared + "fail(x)", call},
		"list":                    {big + "list(a.elems())", call},
		"tuple with another name": {big + "f = tuple\nf(a.elems())", call},
		"sorted":                  {big + "sorted(a.elems())", call},
		"enumerate":               {"enumerate(range(1000000))", call},
		"json.encode":             {shared + "load('encoding/json.star', 'json')\njson.encode(x)", call},
		"json.encode, renamed":    {shared + "load('encoding/json.star', 'json')\nf = json.encode\nf(x)", call},
		"json.indent":             {big + "load('encoding/json.star', 'json')\njson.indent('[1,2,3,4,5,6,7,8,9]', prefix=a)", call},
		"json.encode_indent":      {big + "load('encoding/json.star', 'json')\njson.encode_indent([1] * 1000, indent=a)", call},
		"json.decode":             {"load('encoding/json.star', 'json')\njson.decode('[' + '[],' * 1000000 + '1]')", call},
		"yaml.dumps":              {shared + "load('encoding/yaml.star', 'yaml')\nyaml.dumps(x)", call},
		"yaml.loads":              {"load('encoding/yaml.star', 'yaml')\nyaml.loads('- 1\\n' * 1000000)", call},
		"csv.write_all":           {big + "load('encoding/csv.star', 'csv')\ncsv.write_all([[a] * 1000] * 1000)", call},
		"re.sub":                  {big + "load('re.star', 're')\nre.sub('a', a, a)", call},
		"re.sub, compiled":        {big + "load('re.star', 're')\nre.compile('a').sub(a, a)", call},
		"re.findall":              {big + "load('re.star', 're')\nre.findall('a', a)", call},
		"re.match":                {"load('re.star', 're')\nre.match('()' * 1000, 'a' * 10000)", call},
		"re.split, compiled":      {big + "load('re.star', 're')\nre.compile('a').split(a)", call},
		"a zip file":              {"load('zipfile.star', 'ZipFile')\nload('encoding/base64.star', 'base64')\nZipFile(base64.decode('" + bomb(t, 2, 20<<20) + "'))", call},
		"deeply nested items":     {"x = [1] * 10000\nfor i in range(5000):\n  x = [x]\nctx.resource_list['items'][0]['x'] = x", "the items that the script leaves have more than 1 MiB, which is the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := defaultScriptLimits()
			limits.memory, limits.output, limits.time, limits.grace = 32<<20, 1<<20, time.Hour, time.Hour
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := runScript(t.Context(), test.source, limits)
			runtime.ReadMemStats(&after)
			if got := functiontest.ErrorText(err); got != test.want {
				t.Errorf("error = %s, want %s", got, test.want)
			}
			if most := uint64(512 << 20); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("the script allocated %d bytes, want at most %d", after.TotalAlloc-before.TotalAlloc, most)
			}
		})
	}
}

// Guards do not change the behaviour of scripts.
func TestGuardsAreTransparent(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"lists in place":              "x = [1]\ny = x\nx += (2,)\nx += [3]\nx += x\nif y != [1, 2, 3, 1, 2, 3]: fail(y)",
		"dicts in place":              "x = {1: 2}\ny = x\nx |= {3: 4}\nif y != {1: 2, 3: 4}: fail(y)",
		"dicts":                       "x = {1: 2}\ny = x | {3: 4}\nif x != {1: 2} or y != {1: 2, 3: 4}: fail(x, y)",
		"sets":                        "x = set([1, 2])\nx |= set([3])\nx -= set([1])\nx &= set([2, 3, 4])\nx ^= set([2])\nif x != set([3]): fail(x)",
		"numbers":                     "x = 7\nx -= 2\nx |= 2\nx %= 4\nx ^= 1\nif x != 2 or 7 % 4 != 3 or 7.5 % 2 != 1.5: fail(x)",
		"formats":                     "x = '%s %d'\nx %= ('a', 1)\nif x != 'a 1' or '%(a)s%%' % {'a': 1} != '1%' or '%s' % 'b' != 'b': fail(x)",
		"slices":                      "x = [1, 2, 3]\nif x[1:] != [2, 3] or x[::-1] != [3, 2, 1] or 'abc'[:2] != 'ab' or (1, 2)[:1] != (1,): fail(x)",
		"methods":                     "f = 'a'.upper\nx = [1]\ng = x.append\ng(2)\nif f() != 'A' or x != [1, 2] or [m() for m in ['b'.title]] != ['B']: fail(x)",
		"printed methods":             "if str('a'.replace) != '<built-in method replace of string value>': fail(str('a'.replace))",
		"a list that contains itself": "x = [1]\nx.append(x)\nif str(x) != '[1, [...]]': fail(str(x))",
		"redefined built-ins":         "def list(x):\n  return 1\nif list(2) != 1: fail(list(2))",
		"attributes":                  "if type(ctx.resource_list) != 'dict' or not hasattr('a', 'join') or dir([]) == []: fail()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := runScript(t.Context(), source, defaultScriptLimits()); err != nil {
				t.Error(err)
			}
		})
	}
}
