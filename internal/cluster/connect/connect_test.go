// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/cluster/connect"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"https://c.example\"}}]\n" +
		"contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\nusers: [{name: u, user: {token: t}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := connect.Config(file, "pod-janitor")
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://c.example" || config.QPS != 30 || config.Burst != 45 || !strings.HasPrefix(config.UserAgent, "krmfn-pod-janitor/") {
		t.Errorf("host = %s, QPS = %v, burst = %d, user agent = %s", config.Host, config.QPS, config.Burst, config.UserAgent)
	}
	if config.ContentType != "application/vnd.kubernetes.protobuf" {
		t.Errorf("ContentType = %q", config.ContentType)
	}
	if _, err := connect.Config(file+".missing", "pod-janitor"); err == nil {
		t.Error("Config() of a missing file = nil, want an error")
	}
}
