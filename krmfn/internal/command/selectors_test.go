// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/report"
)

// krmfn reports selectors that match no resource once in text, results and JSON. The status is the same as kpt's.
func TestUnmatchedSelectors(t *testing.T) {
	t.Parallel()
	kf := strings.Replace(kptfile, "      exclude:\n        - kind: Kptfile\n", `      selectors:
        - {kind: Deploymnt, labels: {a: b}}
        - {kind: Deployment}
        - {name: web}
      exclude:
        - {kind: Service}
        - {kind: Sevice}
`, 1)
	const first, second = "selector 1 (kind=Deploymnt, labels.a=b) matches no resource", "exclude 2 (kind=Sevice) matches no resource"
	for name, args := range map[string][]string{"in place": nil, "quiet": {"-q"}, "as JSON": {"--format=json"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, results := newPackage(t, map[string]string{"Kptfile": kf}), t.TempDir()
			got := krmfn(t, append([]string{"render", dir, "--results-dir=" + results}, args...)...).ok(t)
			for _, text := range []string{first, second} {
				want := 1
				if name == "quiet" {
					want = 0
				}
				if n := strings.Count(got.err, `[WARN] function "`+prefix+`set-labels:v0.2": `+text+"\n"); n != want {
					t.Errorf("%q is said %d times, want %d:\n%s", text, n, want, got.err)
				}
				content, err := os.ReadFile(filepath.Join(results, "results.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				contains(t, string(content), "message: "+text+"\n", "severity: warning\n")
			}
			if strings.Contains(snapshot(t, dir)["Kptfile"], "matches no resource") {
				t.Error("the status tells of selectors")
			}
			if name != "as JSON" {
				return
			}
			var doc report.Document
			if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{first, second}, doc.Functions[0].Unmatched); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnmatchedSelectorsOfEval(t *testing.T) {
	t.Parallel()
	got := krmfn(t, "eval", newPackage(t, nil), "-i=set-labels", "--match-kind=Deploymnt", "--exclude-name=web", "--", "a=b").ok(t)
	contains(t, got.err, "[WARN] function \""+prefix+"set-labels\": selector 1 (kind=Deploymnt) matches no resource\n")
	if strings.Contains(got.err, "exclude") {
		t.Errorf("an exclusion that matches is told of:\n%s", got.err)
	}
}
