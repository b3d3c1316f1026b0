// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
)

// pod returns a pod like the one of a template.
func pod() *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{
		Containers:   []corev1.Container{{Name: "function", Image: "r.io/fn"}},
		NodeSelector: map[string]string{"disk": "ssd"},
		Tolerations:  []corev1.Toleration{{Key: "old", Operator: corev1.TolerationOpExists}},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}}
	p.Labels = map[string]string{"team": "a"}
	return p
}

func parse(t *testing.T, text string) *podpatch.Patches {
	t.Helper()
	patches, err := podpatch.Parse([]byte(head + text))
	if err != nil {
		t.Fatal(err)
	}
	return patches
}

// Patches are merged like kubectl patch: mappings by key, lists as a whole. null removes a field.
func TestMerge(t *testing.T) {
	t.Parallel()
	exists := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	}
	local := func(file string) *corev1.SeccompProfile {
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &file}
	}
	for name, tc := range map[string]struct {
		text   string
		change func(*corev1.Pod)
	}{
		"nothing": {"", func(*corev1.Pod) {}},
		"empty":   {"defaults: {}\noverrides: []", func(*corev1.Pod) {}},
		"mappings": {"defaults: {metadata: {labels: {tier: x}}, spec: {nodeSelector: {zone: b}}}", func(p *corev1.Pod) {
			p.Labels["tier"], p.Spec.NodeSelector["zone"] = "x", "b"
		}},
		"lists": {"defaults: {spec: {tolerations: [{key: new, operator: Exists}]}}", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{exists("new")}
		}},
		"null": {"defaults: {metadata: {labels: {team: null}}, spec: {nodeSelector: null, tolerations: null}}", func(p *corev1.Pod) {
			p.Labels, p.Spec.NodeSelector, p.Spec.Tolerations = nil, nil, nil
		}},
		"overrides come last, in their order": {`defaults: {spec: {runtimeClassName: a, priorityClassName: a, schedulerName: a}}
overrides:
- {images: [r.io/team/*], spec: {runtimeClassName: b, priorityClassName: b}}
- {images: [r.io/other, r.io/team/fn], spec: {runtimeClassName: c}}
- {images: [r.io/other], spec: {runtimeClassName: d}}`, func(p *corev1.Pod) {
			p.Spec.RuntimeClassName, p.Spec.PriorityClassName, p.Spec.SchedulerName = new("c"), "b", "a"
		}},
		"a function without": {"defaults: {spec: {runtimeClassName: gvisor, hostUsers: false}}\noverrides: [{images: [r.io/team/fn], spec: {runtimeClassName: null, hostUsers: true}}]", func(p *corev1.Pod) {
			p.Spec.HostUsers = new(true)
		}},
		"a file of a profile": {"defaults: {spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: a/b.json}}}}", func(p *corev1.Pod) {
			p.Spec.SecurityContext.SeccompProfile = local("a/b.json")
		}},
		"a profile in place of a file": {`defaults: {spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: a}}}}
overrides: [{images: [r.io/team/fn], spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}}}]`, func(*corev1.Pod) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := pod()
			tc.change(want)
			got, err := podpatch.Apply(pod(), parse(t, tc.text).For("r.io/team/fn:v1")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// The settings of a repository apply to an image with any spelling.
func TestImages(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0", 64)
	for pattern, tc := range map[string]struct{ matching, other []string }{
		"r.io/team/fn": {
			[]string{"r.io/team/fn", "r.io/team/fn:v1", "r.io/team/fn" + digest, "r.io/team/fn:v1" + digest, "R.IO/team/fn:v1", "r.io:443/team/fn", "r.io:80/team/fn"},
			[]string{"r.io/team/fn2", "r.io/team/fn/x", "r.io:5000/team/fn", "x.r.io/team/fn", "r.io/team"},
		},
		"r.io/team/*":  {[]string{"r.io/team/fn:v1", "r.io/team/a/b", "R.io:443/team/fn"}, []string{"r.io/team", "r.io/teams/fn", "q.io/r.io/team/fn"}},
		"r.io/*":       {[]string{"r.io/fn:v1", "R.io/a/b:v1"}, []string{"r.io.evil/fn", "r.io:5000/fn"}},
		"R.io:443/a/b": {[]string{"r.io/a/b:v1"}, []string{"r.io/a/c"}},
		"docker.io/*":  {[]string{"alpine:v1", "team/fn", "index.docker.io/team/fn", "docker.io/library/alpine"}, []string{"docker.io.x/a"}},
		"team/fn":      {[]string{"docker.io/team/fn:v1"}, []string{"r.io/team/fn"}},
	} {
		patches := parse(t, "overrides: [{images: ['"+pattern+"'], spec: {hostUsers: false}}]")
		for _, image := range tc.matching {
			if len(patches.For(image)) != 1 {
				t.Errorf("pattern %s does not match %s, want a match", pattern, image)
			}
		}
		for _, image := range tc.other {
			if len(patches.For(image)) != 0 {
				t.Errorf("pattern %s matches %s, want no match", pattern, image)
			}
		}
	}
}

// API servers drop unknown fields.
func TestDropped(t *testing.T) {
	t.Parallel()
	all := pod()
	all.Spec.HostUsers, all.Spec.RuntimeClassName = new(false), new("gvisor")
	all.Spec.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	for want, drop := range map[string]func(*corev1.PodSpec){
		"": func(*corev1.PodSpec) {},
		"spec.hostUsers: the cluster needs user namespaces":                       func(s *corev1.PodSpec) { s.HostUsers = nil },
		"spec.runtimeClassName":                                                   func(s *corev1.PodSpec) { s.RuntimeClassName = nil },
		"spec.securityContext.seccompProfile":                                     func(s *corev1.PodSpec) { s.SecurityContext = nil },
		"spec.securityContext.appArmorProfile: the cluster needs Kubernetes 1.30": func(s *corev1.PodSpec) { s.SecurityContext.AppArmorProfile = nil },
	} {
		got := all.DeepCopy()
		drop(&got.Spec)
		if text := podpatch.Dropped(all, got); !strings.HasPrefix(text, want) || (text == "") != (want == "") {
			t.Errorf("Dropped() = %q, want the prefix %q", text, want)
		}
	}
	if text := podpatch.Dropped(&corev1.Pod{}, all); text != "" {
		t.Errorf("Dropped() with added fields = %q, want none", text)
	}
}

// NewStore fails if the file is invalid. Load keeps the current patches if the file is invalid.
func TestStore(t *testing.T) {
	t.Parallel()
	none, err := podpatch.NewStore("", slog.New(slog.DiscardHandler))
	if err != nil || len(none.For("r.io/a")) != 0 {
		t.Errorf("NewStore() without a file = %v, want no patches", err)
	}
	file := filepath.Join(t.TempDir(), "function-pods.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(head+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := podpatch.NewStore(file, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("NewStore() of a missing file = nil error, want an error")
	}
	write("defaults: {spec: {hostNetwork: true}}")
	if _, err := podpatch.NewStore(file, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "function-pods.yaml: line 3") {
		t.Errorf("NewStore() of an invalid file = %v, want an error with the line", err)
	}
	var log strings.Builder
	write("defaults: {spec: {hostUsers: false}}")
	s, err := podpatch.NewStore(file, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	loads := func() bool {
		t.Helper()
		changed, err := s.Load()
		if changed && err != nil {
			t.Errorf("Load() = true, %v, want either a change or an error", err)
		}
		return changed
	}
	before := s.For("r.io/a")
	if loads() {
		t.Error("Load() of the same file = true, want false")
	}
	write("defaults: {spec: {hostUsers: false }}  # a comment")
	if loads() {
		t.Error("Load() after a changed comment = true, want false")
	}
	write("defaults: 3")
	if _, err := s.Load(); err == nil || loads() || len(s.For("r.io/a")) != 1 || strings.Count(log.String(), "stay in force") != 1 {
		t.Errorf("an invalid file has replaced the patches, or was not logged exactly once:\n%s", &log)
	}
	write("defaults: {spec: {hostUsers: true}}")
	if !loads() || cmp.Equal(marshalled(t, before), marshalled(t, s.For("r.io/a"))) {
		t.Error("Load() of another file = false, or the same patches")
	}
}

func marshalled(t *testing.T, patches []podpatch.Patch) (texts []string) {
	t.Helper()
	for _, p := range patches {
		text, err := p.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
