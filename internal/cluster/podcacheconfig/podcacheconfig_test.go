// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcacheconfig_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/internal/server/configfile"
)

func minutes(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Minute} }

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []podcacheconfig.Settings
		problems   []string
	}{
		{
			"a list", `
- name: r.io/check:v3
  timeToLive: 45m
  maxWaitlistLength: 3
  maxParallelPodsPerFunction: 4
  minWarmPods: 1
  maxEvaluationTime: 2m
  resources: {requests: {cpu: 50m}, limits: {memory: 256Mi}}
- name: r.io/set:v1
`,
			[]podcacheconfig.Settings{{
				Image: "r.io/check:v3", TTL: minutes(45), Waitlist: 3, MaxPods: 4, MinPods: 1, MaxEvaluationTime: minutes(2),
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
			}, {Image: "r.io/set:v1"}},
			nil,
		},
		{
			"a mapping", "r.io/set:v1: 30m\nr.io/old:v1: soon\n",
			[]podcacheconfig.Settings{{Image: "r.io/set:v1", TTL: minutes(30)}, {Image: "r.io/old:v1"}},
			[]string{"line 2: the time to live of r.io/old:v1 is not a duration such as 30m"},
		},
		{"nothing", "# nothing\n", nil, nil},
		{"an empty list", "[]", nil, nil},
		{
			"unknown fields", "- name: a\n  bogus: 1\n  timeToLive: 1m\n",
			[]podcacheconfig.Settings{{Image: "a", TTL: minutes(1)}},
			[]string{`line 2: unknown field "bogus"`},
		},
		{
			"values that make no sense", "- name: a\n  timeToLive: -1m\n- name: b\n  maxWaitlistLength: -2\n- name: c\n  maxParallelPodsPerFunction: 1\n  minWarmPods: 2\n",
			[]podcacheconfig.Settings{{Image: "a"}, {Image: "b"}, {Image: "c", MaxPods: 1, MinPods: 1}},
			[]string{
				"line 1: timeToLive of a is -1m0s, want more than 0", "line 3: maxWaitlistLength of b is -2, want more than 0",
				"line 5: minWarmPods of c is 2, want at most maxParallelPodsPerFunction, which is 1",
			},
		},
		{
			"entries that make no sense", "- name: a\n- name: a\n  timeToLive: 1m\n- timeToLive: 1m\n- text\n",
			[]podcacheconfig.Settings{{Image: "a"}},
			[]string{
				"line 2: a is a duplicate: the first entry is used", "line 4: the entry has no name: it must be the image of a function",
				"line 5: this is not a mapping",
			},
		},
		{
			"values of another type", `
- name: a
  timeToLive: soon
  maxWaitlistLength: 3
- maxWaitlistLength: many
  minWarmPods: 1
  name: b
- name: c
  minWarmPods: 1
  resources:
    limits: {memory: 1Gi}
    requests: {cpu: [1]}
- name: [d]
`,
			[]podcacheconfig.Settings{{Image: "a", Waitlist: 3}, {Image: "b", MinPods: 1}, {Image: "c", MinPods: 1}},
			[]string{
				`line 3: timeToLive: time: invalid duration "soon"`, "line 5: maxWaitlistLength is not a number of type int",
				"line 10: resources: ", "line 13: name is not a string", "line 13: the entry has no name",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, problems, err := podcacheconfig.Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if !slices.EqualFunc(tc.problems, problems, func(want string, p configfile.Problem) bool { return strings.HasPrefix(p.Error(), want) }) {
				t.Errorf("problems = %v, want %v", problems, tc.problems)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a: [": "line 1", "text": "line 1: want a list of functions"} {
		if _, _, err := podcacheconfig.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) error = %v, want %s", text, err, want)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"- name: a:v1\n  timeToLive: nonsense\n- name: r.io/b:v1\n- {}\n- text\n- name: [1]\n": {"a:v1", "r.io/b:v1", "", "", ""},
		"r.io/b:v1: 30m\na: 5m\n'': 1\n": {"r.io/b:v1", "a", ""},
		"# nothing\n":                    nil,
	} {
		images, nameless, err := podcacheconfig.Images([]byte(text))
		if diff := cmp.Diff(want, append(images, make([]string, nameless)...)); diff != "" || err != nil {
			t.Errorf("Images(%q) (-want +got):\n%serror = %v", text, diff, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("- name: a\n  timeToLive: 1m\n  resources: {limits: {cpu: 1}}\n")
	f.Add("a: 30m\n")
	f.Add("- &x [*x]\n")
	f.Add("'': 1\n")
	f.Add("- name: a\n  resources: {limits: {cpu: 1e999999999}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		images, nameless, err := podcacheconfig.Images([]byte(text))
		if err != nil && (images != nil || nameless != 0) || slices.Contains(images, "") {
			t.Errorf("Images() = %q, %d, %v", images, nameless, err)
		}
		settings, _, err := podcacheconfig.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, s := range settings {
			if s.Image == "" || s.TTL.Duration < 0 || s.MaxPods < 0 || s.MinPods < 0 || s.Waitlist < 0 {
				t.Errorf("invalid settings: %+v", s)
			}
		}
	})
}
