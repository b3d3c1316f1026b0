// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/portforward"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]portforward.Target{
		"porch-system/function-runner":          {Namespace: "porch-system", Service: "function-runner"},
		"kind-dev/ns/runner:9445":               {Context: "kind-dev", Namespace: "ns", Service: "runner", Port: "9445"},
		"arn:aws:eks:eu:1:cluster/x/ns/r:grpc":  {Context: "arn:aws:eks:eu:1:cluster/x", Namespace: "ns", Service: "r", Port: "grpc"},
		"gke_p_europe-west1_c/default/r":        {Context: "gke_p_europe-west1_c", Namespace: "default", Service: "r"},
		"default/api-x:6443/admin/ns/runner:80": {Context: "default/api-x:6443/admin", Namespace: "ns", Service: "runner", Port: "80"},
	} {
		got, err := portforward.Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v, (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":             "has no namespace",
		"runner":       "has no namespace",
		"/runner":      "no name of a namespace",
		"ns/":          "no name of a Service",
		"/ns/runner":   "context",
		"ns/runner:":   "neither number nor name of a port",
		"ns/runner:0":  "neither number nor name of a port",
		"ns/a:b:c":     "neither number nor name of a port",
		"Ns/runner":    `"Ns" is no name of a namespace`,
		"ns/run..ner":  "no name of a Service",
		"ns/r:99999":   "neither number nor name of a port",
		"../../secret": "no name of a namespace",
	} {
		if _, err := portforward.Parse(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), portforward.Form) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"ns/runner", "a/b/ns/runner:grpc", "//:", "ns/runner:9445"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := portforward.Parse(text)
		if err != nil {
			return
		}
		written := target.Namespace + "/" + target.Service
		if target.Context != "" {
			written = target.Context + "/" + written
		}
		if target.Port != "" {
			written += ":" + target.Port
		}
		if written != text {
			t.Errorf("%q was read as %q", text, written)
		}
	})
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const head = "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"https://c.example\"}}]\n" +
		"contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n"
	for name, tc := range map[string]struct{ kubeconfig, context, want string }{
		"no file":               {filepath.Join(dir, "missing"), "", "there is no kubeconfig: set $KUBECONFIG"},
		"no file but a context": {filepath.Join(dir, "missing"), "c", "there is no kubeconfig: set $KUBECONFIG"},
		"no such context":       {write("a", head+"current-context: c\n"), "other", `the kubeconfig has no context "other"`},
		"no current context":    {write("b", head), "", "the kubeconfig has no current context"},
		"broken":                {write("c", "{"), "", "read the kubeconfig: "},
		"no cluster":            {write("d", "apiVersion: v1\nkind: Config\ncontexts: [{name: c, context: {cluster: gone}}]\ncurrent-context: c\n"), "", `context "c" of the kubeconfig has no cluster`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := portforward.Open(portforward.Target{Context: tc.context, Namespace: "n", Service: "s"}, portforward.Kubeconfig{Files: tc.kubeconfig})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
