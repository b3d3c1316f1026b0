// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package gatekeeper

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// reviewOf returns a list with one ConfigMap and a policy whose rule has a body that binds msg.
func reviewOf(body string) string {
	rego := strings.ReplaceAll("package x\nviolation[{\"msg\": msg}] {\n"+body+"\n}\n", "\n", "\n        ")
	return functiontest.List(fmt.Sprintf(`
- apiVersion: templates.gatekeeper.sh/v1
  kind: ConstraintTemplate
  metadata: {name: each}
  spec:
    crd: {spec: {names: {kind: Each}}}
    targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        %s
- {apiVersion: constraints.gatekeeper.sh/v1beta1, kind: Each, metadata: {name: c}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: "%s"}}
`, rego, strings.Repeat("a", 100_000)), "")
}

// doubling returns rules, each of which has the value of the previous one twice. The last one is x40.
func doubling() string {
	var rules strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rules, "x%d := [x%d, x%d]\n", i+1, i, i)
	}
	return "\n}\nx0 := [\"a\"]\n" + rules.String() + "never {\nfalse"
}

// Calls whose results are far larger than their arguments fail before they allocate, and the function fails.
func TestResultsAreBounded(t *testing.T) { //nolint:paralleltest // it measures allocations
	const a = "a := input.review.object.data.a\n"
	for name, body := range map[string]string{ //nolint:paralleltest // see above
		"numbers.range":                    "msg := sprintf(\"%v\", [count(numbers.range(1, 400000000))])",
		"numbers.range_step":               "msg := sprintf(\"%v\", [count(numbers.range_step(1, 4000000000, 10))])",
		"replace":                          a + "msg := replace(a, \"a\", a)",
		"strings.replace_n":                a + "msg := strings.replace_n({\"a\": a}, a)",
		"regex.replace":                    a + "msg := regex.replace(a, \"a\", a)",
		"concat":                           a + "msg := concat(a, split(a, \"\"))",
		"sprintf":                          a + "msg := sprintf(concat(\"\", [\"%[1]s\" | numbers.range(1, 1000)[_]]), [a])",
		"json.marshal":                     "msg := json.marshal(x40)" + doubling(),
		"yaml.marshal":                     "msg := yaml.marshal(x40)" + doubling(),
		"json.patch":                       "x := json.patch({\"a\": {}}, [{\"op\": \"copy\", \"from\": \"/a\", \"path\": sprintf(\"/a/%d\", [i])} | i := numbers.range(1, 60)[_]])\nmsg := \"m\"",
		"bits.lsh":                         "msg := sprintf(\"%v\", [bits.lsh(1, 10000000000)])",
		"regex.find_all_string_submatch_n": a + "msg := sprintf(\"%v\", [count(regex.find_all_string_submatch_n(concat(\"\", [\"()\" | numbers.range(1, 1000)[_]]), a, -1))])",
	} {
		t.Run(name, func(t *testing.T) {
			rl, err := fn.ParseResourceList([]byte(reviewOf(body)))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			ok, err := gatekeeper(t.Context(), rl)
			runtime.ReadMemStats(&after)
			want := "eval_builtin_error: " + name + ": the result is too large"
			if ok || err != nil || len(rl.Results) != 1 || !strings.HasSuffix(rl.Results[0].Message, want) {
				t.Errorf("gatekeeper() = %t, %v with %v, want an error that %s is too large", ok, err, rl.Results, name)
			}
			if most := uint64(512 << 20); after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("the call allocated %d bytes, want at most %d", after.TotalAlloc-before.TotalAlloc, most)
			}
		})
	}
}

// Violations with shared values that would be too large as text are an error.
func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	list := strings.Replace(reviewOf("msg := \"m\""+doubling()), `{"msg": msg}`, `{"msg": msg, "details": x40}`, 1)
	rl, err := fn.ParseResourceList([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := gatekeeper(t.Context(), rl)
	want := "the Rego of its template failed: its violations have more than 64 MiB"
	if ok || err != nil || len(rl.Results) != 1 || rl.Results[0].Message != want {
		t.Errorf("gatekeeper() = %t, %v with %v, want %q", ok, err, rl.Results, want)
	}
}

// An evaluation whose values exceed the memory limit fails.
func TestMemoryIsWatched(t *testing.T) { //nolint:paralleltest // measures the memory of the process
	rl, err := fn.ParseResourceList([]byte(reviewOf("n := numbers.range(1, 10000)\nall := [s | x := n[_]; y := n[_]; s := sprintf(\"%d-%d\", [x, y])]\nmsg := sprintf(\"%v\", [count(all)])")))
	if err != nil {
		t.Fatal(err)
	}
	ok, err := evaluate(t.Context(), rl, 64<<20)
	want := "the policies use more than 64 MiB of memory, which is the limit"
	if ok || err != nil || len(rl.Results) != 1 || rl.Results[0].Message != want {
		t.Errorf("evaluate() = %t, %v with %v, want %q", ok, err, rl.Results, want)
	}
}

// Garbage does not count towards the memory limit.
func TestGarbageIsNotCounted(t *testing.T) { //nolint:paralleltest // measures the memory of the process
	rl, err := fn.ParseResourceList([]byte(reviewOf("a := input.review.object.data.a\nn := numbers.range(1, 2000)\ncount([x | x := n[_]; count(sprintf(\"%s%d\", [a, x])) == 0]) == 0\nmsg := \"m\"")))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := evaluate(t.Context(), rl, 64<<20); ok || err != nil || len(rl.Results) != 1 || !strings.HasPrefix(rl.Results[0].Message, "m\n") {
		t.Errorf("evaluate() = %t, %v with %v, want one violation", ok, err, rl.Results)
	}
}

// JSON schemas in rules and annotations cannot refer to a server or file.
func TestSchemasReachNothing(t *testing.T) {
	t.Parallel()
	const secret = "TRAPPED-SECRET"
	file := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(file, []byte(`{"enum": ["`+secret+`"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method }))
	t.Cleanup(server.Close)
	for _, location := range []string{server.URL, "file://" + file} {
		for _, rule := range []string{
			`msg := sprintf("%v", [json.match_schema({}, {"$ref": "` + location + `"})])`,
			`msg := sprintf("%v", [json.verify_schema({"$ref": "` + location + `"})])`,
			"msg := f(1)\n}\n# METADATA\n# schemas:\n# - input.review: {$ref: \"" + location + "\"}\nf(x) := y {\ny := sprintf(\"%v\", [input.review.a + x])",
		} {
			rl, err := fn.ParseResourceList([]byte(reviewOf(rule)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gatekeeper(t.Context(), rl); err != nil {
				t.Fatal(err)
			}
			if len(asked) > 0 || strings.Contains(rl.Results.Error(), secret) {
				t.Errorf("%s reached %s, results %v", rule, location, rl.Results)
			}
		}
	}
}
