// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// givenByChart are flags that name what the chart installs: files, objects and namespaces.
var inlineCode = regexp.MustCompile("`(--[a-z-]+)`")

var givenByChart = []string{
	"config", "functions", "deployment", "pod-cache-config", "image-metadata", "function-runner", "namespace", "image", "metadata-configmap",
	"image-pull-secret", "node-selector", "toleration", "health-port", "watch", "prepull",
}

// operate.md lists the flags for which the chart has another default than the program.
func TestDifferentDefaultsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(inCheckout(t, "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Defaults of the chart and of the programs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]bool{}
	for row := range strings.SplitSeq(section, "\n") {
		flag, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, name := range inlineCode.FindAllStringSubmatch(flag, -1) {
			documented[name[1]] = true
		}
	}
	differ := map[string]bool{}
	for _, w := range workloads(t, renderOnce(t, map[string]any{
		"imageWarmer": map[string]any{"enabled": true, "images": []any{"set-labels:v0.2.0"}}, "taskHandler": map[string]any{"enabled": true},
	})) {
		c := w.spec.Containers[0]
		of, known := components[c.Name]
		if !known || w.GetKind() == "Job" { // Jobs are hooks, which have flags of their own.
			continue
		}
		args, _ := commandLine(c)
		for _, arg := range args {
			name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if flag := of.flags.Lookup(name); flag != nil && !slices.Contains(givenByChart, name) && !same(flag, value) {
				differ["--"+name] = true
				if !documented["--"+name] {
					t.Errorf("%s has --%s=%s, and the program's default is %q: add it to the table in docs/operate.md", w, name, value, flag.DefValue)
				}
			}
		}
	}
	for name := range documented {
		if !differ[name] {
			t.Errorf("docs/operate.md lists %s, and the chart has the default of the program", name)
		}
	}
}

// same reports whether a value is the default of a flag, in any form: 30m is 30m0s.
func same(flag *pflag.Flag, value string) bool {
	before := flag.Value.String()
	defer func() { _ = flag.Value.Set(before) }()
	return flag.Value.Set(value) == nil && flag.Value.String() == flag.DefValue
}
