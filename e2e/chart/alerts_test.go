// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

// ruleTests is a file in the format of promtool test rules, as far as it is needed here.
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

// The image warmer tells less of itself where a CronJob runs it.
func TestAlertsOfScheduledImageWarmerFire(t *testing.T) {
	t.Parallel()
	scheduled := alertsOf(t, monitoredWith(t, `imageWarmer: {enabled: true, images: [a/b:v1], mode: CronJob, timeout: 10m, jitter: 5m}`))
	testAlerts(t, "alerts_scheduled_test.yaml", slices.DeleteFunc(scheduled, func(alert monitoringv1.Rule) bool { return alert.Alert != "KrmfnImageWarmerFails" }))
}

// testAlerts runs the tests in a file, which must have each of the alerts fire.
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
			t.Errorf("no test has the alert %s fire", alert.Alert)
		}
		if want := "#" + strings.ToLower(alert.Alert); !strings.HasSuffix(alert.Annotations["runbook_url"], want) {
			t.Errorf("alert %s: its runbook_url is %q, want one that ends with %s", alert.Alert, alert.Annotations["runbook_url"], want)
		}
	}
}

// run evaluates the alerts over the series and compares those that fire at the times that the test names.
func (test *ruleTest) run(t *testing.T, step time.Duration, all []monitoringv1.Rule) {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %v\n", test.Interval)
	for _, s := range test.InputSeries {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	suite, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := suite.Close(); err != nil {
			t.Error(err)
		}
	}()
	group := loadAlerts(t, suite, all)
	last := slices.MaxFunc(test.AlertRuleTest, func(a, b alertTest) int { return int(a.EvalTime - b.EvalTime) })
	for at := time.Duration(0); at <= time.Duration(last.EvalTime); at += step {
		now := time.Unix(0, 0).UTC().Add(at)
		suite.WithSamplesTill(now, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			group.Eval(suite.Context(), now)
		})
		for _, alert := range test.AlertRuleTest {
			if time.Duration(alert.EvalTime) == at {
				alert.check(t, group)
			}
		}
	}
}

// loadAlerts returns alerts of the chart, over the storage of a test.
func loadAlerts(t *testing.T, suite *promqltest.LazyLoader, alerts []monitoringv1.Rule) *rules.Group {
	t.Helper()
	var all []rules.Rule
	for _, alert := range alerts {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(alert.Expr.String())
		if err != nil {
			t.Fatal(err)
		}
		wait, err := time.ParseDuration(string(*alert.For))
		if err != nil {
			t.Fatal(err)
		}
		rule := rules.NewAlertingRule(alert.Alert, expr, wait, 0, labels.FromMap(alert.Labels), labels.FromMap(alert.Annotations), labels.EmptyLabels(), "", true,
			slog.New(slog.DiscardHandler))
		all = append(all, rule)
	}
	return rules.NewGroup(rules.GroupOptions{Name: "krmfn", Interval: time.Minute, Rules: all, Opts: &rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), Appendable: suite.Storage(), Context: suite.Context(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: slog.New(slog.DiscardHandler),
	}})
}

func (a *alertTest) check(t *testing.T, group *rules.Group) {
	t.Helper()
	var got, want []map[string]string
	for _, expected := range a.ExpAlerts {
		want = append(want, expected.ExpLabels)
	}
	for _, rule := range group.Rules() {
		alerting, ok := rule.(*rules.AlertingRule)
		if !ok || alerting.Name() != a.Alertname {
			continue
		}
		if err := alerting.LastError(); err != nil {
			t.Fatalf("%s: %v", a.Alertname, err)
		}
		for _, active := range alerting.ActiveAlerts() {
			if active.State == rules.StateFiring {
				found := active.Labels.Map()
				delete(found, "alertname")
				got = append(got, found)
			}
		}
	}
	inOrder := cmpopts.SortSlices(func(a, b map[string]string) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, got, inOrder); diff != "" {
		t.Errorf("%s at %v (-want +got):\n%s", a.Alertname, a.EvalTime, diff)
	}
}
