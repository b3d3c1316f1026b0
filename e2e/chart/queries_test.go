// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// panelQueries returns all queries of the dashboard, with Grafana's variables replaced.
func panelQueries(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "dashboards", "krmfn.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard any
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var all []string
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, below := range value {
				walk(below)
			}
		case map[string]any:
			if query, ok := value["expr"].(string); ok {
				all = append(all, strings.ReplaceAll(query, "$__rate_interval", "5m"))
			}
			for _, below := range value {
				walk(below)
			}
		}
	}
	walk(dashboard)
	if len(all) == 0 {
		t.Fatal("the dashboard has no queries")
	}
	return all
}

// selectors returns the vector selectors in a query. It fails the test if the query is not valid PromQL.
func selectors(t *testing.T, query string) []*parser.VectorSelector {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%v in %s", err, query)
	}
	var all []*parser.VectorSelector
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			all = append(all, selector)
		}
		return nil
	})
	return all
}

// foreign lists metrics of Prometheus, of Go libraries and of kube-state-metrics.
var foreign = []string{
	"up", "process_resident_memory_bytes", "go_memory_used_bytes",
	"kube_cronjob_status_last_schedule_time", "kube_cronjob_status_last_successful_time", "kube_cronjob_next_schedule_time", "kube_job_status_failed",
}

func TestQueriesUseRegisteredMetrics(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, m := range registeredMetrics(t) {
		for _, series := range m.series() {
			known[series] = true
		}
	}
	codes := evaluationCodes(t)
	queries := panelQueries(t)
	for _, alert := range alerts(t) {
		queries = append(queries, alert.Expr.String())
	}
	for _, query := range queries {
		for _, selector := range selectors(t, query) {
			if !known[selector.Name] && !slices.Contains(foreign, selector.Name) {
				t.Errorf("no program registers the metric %s in %s", selector.Name, query)
			}
			for _, matcher := range selector.LabelMatchers {
				if matcher.Name != "code" || matcher.Type == labels.MatchNotEqual || strings.HasPrefix(selector.Name, "krm_render") {
					continue
				}
				for code := range strings.SplitSeq(matcher.Value, "|") {
					if !slices.Contains(codes, code) {
						t.Errorf("the code %s is not a code of evaluations in %s", code, query)
					}
				}
			}
		}
	}
}
