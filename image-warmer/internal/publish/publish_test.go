// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
)

func image(ref, digit string) registry.Image {
	return registry.Image{Reference: ref, Digest: "sha256:" + strings.Repeat(digit, 64), Command: []string{"/fn"}}
}

func format(t *testing.T, all ...registry.Image) string {
	t.Helper()
	text, err := metadata.Format(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func configMap(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "metadata", Namespace: "ns", Labels: publish.Labels()},
		Data:       map[string]string{metadata.Key: text, "other": "stays"},
	}
}

func all(resolved ...registry.Image) publish.Metadata {
	return publish.Metadata{Resolved: resolved, Listed: []string{"a", "b"}, Complete: true}
}

func writes(client *fake.Clientset) int {
	n := 0
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			n++
		}
	}
	return n
}

func TestConfigMap(t *testing.T) {
	t.Parallel()
	a, b, moved, gone := image("a", "1"), image("b", "2"), image("a", "3"), image("gone", "4")
	incomplete := all(moved)
	incomplete.Complete = false
	for _, tc := range []struct {
		name     string
		before   *corev1.ConfigMap
		metadata publish.Metadata
		want     report.Metadata
		text     string
		logged   string
	}{
		{"new", nil, all(a, b), report.Metadata{Action: report.Created}, format(t, a, b), ""},
		{"the same", configMap(format(t, a, b)), all(b, a), report.Metadata{Action: report.Unchanged}, format(t, a, b), ""},
		{"moved", configMap(format(t, a, b)), all(moved, b), report.Metadata{Action: report.Updated}, format(t, moved, b), ""},
		{
			"a registry is down", configMap(format(t, a, b)), all(moved),
			report.Metadata{Action: report.Updated, Kept: []string{"b"}},
			format(t, moved, b), "",
		},
		{
			"listed no more", configMap(format(t, a, gone)), all(a, b),
			report.Metadata{Action: report.Updated, Dropped: []string{"gone"}},
			format(t, a, b), "",
		},
		{
			"perhaps listed", configMap(format(t, a, gone)), incomplete,
			report.Metadata{Action: report.Updated, Kept: []string{"gone"}},
			format(t, moved, gone), "",
		},
		{
			"nothing resolved", configMap(format(t, a, gone)), all(),
			report.Metadata{Action: report.Nothing, Kept: []string{"a", "gone"}},
			format(t, a, gone), "",
		},
		{"nothing at all", nil, all(), report.Metadata{Action: report.Nothing}, "", ""},
		{"prepared by others", configMap(""), all(a), report.Metadata{Action: report.Updated}, format(t, a), ""},
		{"invalid metadata", configMap("images: 7"), all(a), report.Metadata{Action: report.Updated}, format(t, a), "invalid metadata"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if tc.before != nil {
				client = fake.NewClientset(tc.before.DeepCopy())
			}
			var log bytes.Buffer
			c := &publish.ConfigMap{Client: client.CoreV1().ConfigMaps("ns"), Namespace: "ns", Name: "metadata", DryRun: true, Log: slog.New(slog.NewTextHandler(&log, nil))}
			for _, c.DryRun = range []bool{true, false} {
				got, err := c.Publish(t.Context(), tc.metadata)
				tc.want.Target = "ConfigMap ns/metadata"
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
					t.Errorf("DryRun = %v: error = %v, outcome (-want +got):\n%s", c.DryRun, err, diff)
				}
				if n := writes(client); c.DryRun && n > 0 {
					t.Errorf("writes of a dry run = %d, want 0", n)
				}
			}
			if (tc.want.Action == report.Unchanged || tc.want.Action == report.Nothing) && writes(client) > 0 {
				t.Error("there was a write")
			}
			if !strings.Contains(log.String(), tc.logged) || tc.logged == "" && log.Len() > 0 {
				t.Errorf("log = %q, want %q", log.String(), tc.logged)
			}
			found, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), "metadata", metav1.GetOptions{})
			if err != nil && tc.text != "" {
				t.Fatal(err)
			}
			if err == nil && (found.Data[metadata.Key] != tc.text || cmp.Diff(publish.Labels(), found.Labels) != "") {
				t.Errorf("labels = %v, text:\n%s", found.Labels, found.Data[metadata.Key])
			}
			if tc.before != nil && found.Data["other"] != "stays" {
				t.Error("another key is gone")
			}
		})
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	theirs := configMap("theirs")
	theirs.Labels[publish.ManagedByLabel] = "Helm"
	client := fake.NewClientset(theirs)
	c := &publish.ConfigMap{Client: client.CoreV1().ConfigMaps("ns"), Namespace: "ns", Name: "metadata", Log: slog.New(slog.DiscardHandler)}
	_, err := c.Publish(t.Context(), all(image("a", "1")))
	if err == nil || !strings.Contains(err.Error(), "is not the image warmer's") || writes(client) > 0 {
		t.Errorf("error = %v, writes = %d", err, writes(client))
	}
}

// Publish fills a ConfigMap that the chart has created for metadata, and keeps its labels.
func TestMadeForIt(t *testing.T) {
	t.Parallel()
	charts := configMap("")
	charts.Labels = map[string]string{publish.ManagedByLabel: "Helm", metadata.Label: "true"}
	client := fake.NewClientset(charts.DeepCopy())
	c := &publish.ConfigMap{Client: client.CoreV1().ConfigMaps("ns"), Namespace: "ns", Name: "metadata", Log: slog.New(slog.DiscardHandler)}
	if got, err := c.Publish(t.Context(), all(image("a", "1"))); err != nil || got.Action != report.Updated {
		t.Errorf("Publish() = %+v, %v", got, err)
	}
	found, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), "metadata", metav1.GetOptions{})
	if err != nil || found.Data[metadata.Key] != format(t, image("a", "1")) {
		t.Errorf("error = %v, data = %v", err, found.Data)
	}
	if diff := cmp.Diff(charts.Labels, found.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// After a conflict, Publish reads the ConfigMap again and merges. It gives up after some attempts.
func TestConflict(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "configmaps"}
	a, b := image("a", "1"), image("b", "2")
	for _, tc := range []struct {
		name, verb string
		err        error
		conflicts  int
		want       string
	}{
		{"once", "update", apierrors.NewConflict(resource, "metadata", errors.New("changed")), 1, ""},
		{"for ever", "update", apierrors.NewConflict(resource, "metadata", errors.New("changed")), 100, "update ConfigMap metadata"},
		{"made in between", "create", apierrors.NewAlreadyExists(resource, "metadata"), 1, ""},
		{"refused", "update", apierrors.NewForbidden(resource, "metadata", errors.New("no rights")), 100, "no rights"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			client := fake.NewClientset()
			if tc.verb == "update" {
				client = fake.NewClientset(configMap(format(t, image("b", "3"))))
			}
			tried := 0
			client.PrependReactor(tc.verb, "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
				if tried++; tried > tc.conflicts {
					return false, nil, nil
				}
				// Another writer was faster.
				theirs := configMap(format(t, b))
				write := func() error { return client.Tracker().Add(theirs) }
				if tc.verb == "update" {
					write = func() error {
						return client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), theirs, "ns")
					}
				}
				if err := write(); err != nil {
					t.Error(err)
				}
				return true, nil, tc.err
			})
			c := &publish.ConfigMap{Client: client.CoreV1().ConfigMaps("ns"), Namespace: "ns", Name: "metadata", Log: slog.New(slog.DiscardHandler)}
			got, err := c.Publish(t.Context(), all(a))
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || tried > 5 {
					t.Errorf("error after %d attempts = %v, want %q", tried, err, tc.want)
				}
				return
			}
			if err != nil || got.Action != report.Updated || cmp.Diff([]string{"b"}, got.Kept) != "" {
				t.Errorf("Publish() = %+v, %v", got, err)
			}
			found, err := client.CoreV1().ConfigMaps("ns").Get(t.Context(), "metadata", metav1.GetOptions{})
			if err != nil || found.Data[metadata.Key] != format(t, a, b) {
				t.Errorf("error = %v, text:\n%s", err, found.Data[metadata.Key])
			}
		})
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	a, b := image("a", "1"), image("b", "2")
	name := filepath.Join(t.TempDir(), "metadata.yaml")
	var stdout, log bytes.Buffer
	f := &publish.File{Name: name, Stdout: &stdout, Log: slog.New(slog.NewTextHandler(&log, nil))}
	check := func(m publish.Metadata, want report.Metadata, text string) {
		t.Helper()
		got, err := f.Publish(t.Context(), m)
		if want.Target = f.Name; f.Name == publish.StandardOutput {
			want.Target = "standard output"
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error = %v, outcome (-want +got):\n%s", err, diff)
		}
		content, err := os.ReadFile(name)
		if string(content) != text {
			t.Errorf("error = %v, text:\n%s", err, content)
		}
	}
	f.DryRun = true
	check(all(a), report.Metadata{Action: report.Created}, "")
	f.DryRun = false
	check(all(a), report.Metadata{Action: report.Created}, format(t, a))
	check(all(a), report.Metadata{Action: report.Unchanged}, format(t, a))
	check(all(b), report.Metadata{Action: report.Updated, Kept: []string{"a"}}, format(t, a, b))
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(all(b), report.Metadata{Action: report.Updated}, format(t, b))
	if !strings.Contains(log.String(), "invalid metadata") {
		t.Errorf("log = %q, want one warning", log.String())
	}
	f.Name = publish.StandardOutput
	check(all(a), report.Metadata{Action: report.Created}, format(t, b))
	if stdout.String() != format(t, a) {
		t.Errorf("standard output:\n%s", &stdout)
	}
	f.Name = filepath.Join(t.TempDir(), "none", "metadata.yaml")
	if _, err := f.Publish(t.Context(), all(a)); err == nil || !strings.Contains(err.Error(), "write --metadata-file") {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("error = %v, files = %v", err, entries)
	}
}
