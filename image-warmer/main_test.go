// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRegistry returns the host of a registry with fn:v1.2.3.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	host := strings.TrimPrefix(server.URL, "http://")
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Entrypoint: []string{"/fn"}}})
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(host + "/fn:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	return host
}

// warm runs the command without a cluster.
func warm(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append(args, "--prepull=false"), nil, &out, &err)
	return code, out.String(), err.String()
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	host := newRegistry(t)
	file := filepath.Join(t.TempDir(), "metadata.yaml")
	for _, tc := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"all is well", []string{host + "/fn:v1.2.3", "--metadata-file", file}, exitOK, "metadata: " + file + " created", ""},
		{"an image fails", []string{host + "/fn:v1.2.3", host + "/fn:v9", "--metadata-configmap="}, exitFailed, "failed: " + host + "/fn:v9: ", "image cannot be resolved"},
		{"no policy", []string{host + "/fn:v1.2.3", "--metadata-configmap=", "--image-policy=/none"}, exitUsage, "", "read the image policy"},
		{"a reference is invalid", []string{"A", "--metadata-configmap="}, exitFailed, "failed: A: ", ""},
		{"a file is missing", []string{"--pod-cache-config=/none", "--metadata-configmap="}, exitFailed, "failed: /none: ", ""},
		{"metadata cannot be written", []string{host + "/fn:v1.2.3", "--metadata-file=/none/f"}, exitFailed, "failed: write --metadata-file", ""},
		{"no cluster", []string{"a", "--kubeconfig=/none"}, exitFailed, "", "image-warmer: find the cluster"},
		{"bad flags", []string{"a", "--format=xml"}, exitUsage, "", `--format is "xml"`},
		{"help", []string{"--help"}, exitOK, "Usage: image-warmer", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := warm(t, tc.args...)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code = %d, want %d\nstdout: %s\nstderr: %s", code, tc.code, stdout, stderr)
			}
		})
	}
}

// Standard output contains only the report, because programs parse it.
func TestJSON(t *testing.T) {
	t.Parallel()
	host := newRegistry(t)
	dir := t.TempDir()
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  - image: " + host + "/fn\n    tag: ^1.0\n  - image: moved\n    tag: v1.2.3\n"
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kptfile), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := warm(t, "--kptfiles", dir, "--metadata-configmap=", "--format=json", "--default-image-prefix=old.invalid",
		"--image-rewrite=old.invalid/moved="+host+"/fn")
	var got report.Report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitOK {
		t.Fatalf("exit code = %d, error = %v\n%s\n%s", code, err, stdout, stderr)
	}
	if len(got.Images) != 1 || got.Images[0].Image != host+"/fn:v1.2.3" || got.Images[0].Metadata != report.Resolved || len(got.Failures) > 0 {
		t.Errorf("report = %+v, want another one", got)
	}
}

// With --metadata-file=-, standard output contains only the metadata.
func TestMetadataOnStandardOutput(t *testing.T) {
	t.Parallel()
	host := newRegistry(t)
	code, stdout, stderr := warm(t, host+"/fn:v1.2.3", "--metadata-file=-")
	images, err := metadata.Parse([]byte(stdout))
	if code != exitOK || err != nil || len(images) != 1 || cmp.Diff([]string{"/fn"}, images[0].Command) != "" {
		t.Errorf("exit code = %d, error = %v, images = %+v, standard output:\n%s", code, err, images, stdout)
	}
	if !strings.Contains(stderr, "metadata: standard output created") {
		t.Errorf("standard error without the report:\n%s", stderr)
	}
}
