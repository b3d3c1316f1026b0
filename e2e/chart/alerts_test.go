// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

// ruleTests is a file in the format of promtool test rules, reduced to the fields that the tests use.
type ruleTests struct {
	EvaluationInterval model.Duration `json:"evaluation_interval"`
	Tests              []ruleTest     `json:"tests"`
}

type ruleTest struct {
	Name        string         `json:"name"`
	Interval    model.Duration `json:"interval"`
	InputSeries []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	AlertRuleTest []alertTest `json:"alert_rule_test"`
}

type alertTest struct {
	EvalTime  model.Duration `json:"eval_time"`
	Alertname string         `json:"alertname"`
	ExpAlerts []struct {
		ExpLabels map[string]string `json:"exp_labels"`
	} `json:"exp_alerts"`
}

func TestAlertsFire(t *testing.T) {
	t.Parallel()
	testAlerts(t, "alerts_test.yaml", alerts(t))
}

// testAlerts runs the tests in a file. Each alert must fire in at least one of them.
func testAlerts(t *testing.T, name string, all []monitoringv1.Rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file ruleTests
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	for _, test := range file.Tests {
		for _, alert := range test.AlertRuleTest {
			fired[alert.Alertname] = fired[alert.Alertname] || len(alert.ExpAlerts) > 0
		}
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			test.run(t, time.Duration(file.EvaluationInterval), all)
		})
	}
	for _, alert := range all {
		if !fired[alert.Alert] {
			t.Errorf("alert %s fires in no test", alert.Alert)
		}
		if want := "#" + strings.ToLower(alert.Alert); !strings.HasSuffix(alert.Annotations["runbook_url"], want) {
			t.Errorf("alert %s: runbook_url = %q, want suffix %q", alert.Alert, alert.Annotations["runbook_url"], want)
		}
	}
}

// run evaluates the rules over the test's series and compares the firing alerts with the expected ones.
func (test *ruleTest) run(t *testing.T, step time.Duration, all []monitoringv1.Rule) {
	t.Helper()
	var definitions []string
	for _, s := range test.InputSeries {
		definitions = append(definitions, s.Series+" "+s.Values)
	}
	examples, err := parseSeries(t, time.Duration(test.Interval), definitions...)
	if err != nil {
		t.Fatal(err)
	}
	inOrder := cmpopts.SortSlices(func(a, b map[string]string) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	for _, alert := range test.AlertRuleTest {
		var got, want []map[string]string
		for _, expected := range alert.ExpAlerts {
			want = append(want, expected.ExpLabels)
		}
		for _, rule := range all {
			if rule.Alert == alert.Alertname {
				got = append(got, firing(t, examples, rule, step, time.Duration(alert.EvalTime))...)
			}
		}
		if diff := cmp.Diff(want, got, inOrder); diff != "" {
			t.Errorf("%s at %v (-want +got):\n%s", alert.Alertname, alert.EvalTime, diff)
		}
	}
}

// firing evaluates a rule at each step from time zero, as Prometheus does, and returns the labels of the alerts that fire at the given
// time. An alert fires when each evaluation within the rule's "for" duration has returned it.
func firing(t *testing.T, examples *exampleSeries, rule monitoringv1.Rule, step, at time.Duration) []map[string]string {
	t.Helper()
	wait, err := time.ParseDuration(string(*rule.For))
	if err != nil {
		t.Fatalf("%s: %v", rule.Alert, err)
	}
	if rule.KeepFiringFor != nil || strings.Contains(fmt.Sprint(rule.Labels), "{{") {
		t.Fatalf("%s: keep_firing_for and templates of labels are not supported here", rule.Alert)
	}
	type alert struct {
		since  time.Duration
		labels map[string]string
	}
	active := map[string]alert{}
	for now := time.Duration(0); now <= at; now += step {
		found, err := examples.at(t.Context(), rule.Expr.String(), now)
		if err != nil {
			t.Fatalf("%s: %v", rule.Alert, err)
		}
		before := active
		active = make(map[string]alert, len(found))
		for _, sample := range found {
			set := sample.Metric.Map()
			delete(set, model.MetricNameLabel)
			maps.Copy(set, rule.Labels)
			key := fmt.Sprint(set)
			if _, twice := active[key]; twice {
				t.Fatalf("%s: two alerts have the labels %s", rule.Alert, key)
			}
			active[key] = alert{since: now, labels: set}
			if earlier, ok := before[key]; ok {
				active[key] = earlier
			}
		}
	}
	var fires []map[string]string
	for _, alert := range active {
		if at-alert.since >= wait {
			fires = append(fires, alert.labels)
		}
	}
	return fires
}
