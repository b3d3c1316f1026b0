// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// server answers with a status; url is where it is.
func server(t *testing.T, secure bool, status int) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL
}

func TestPost(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, tc := range map[string]struct {
		url     string
		timeout time.Duration
		want    string
	}{
		"taken":          {server(t, false, http.StatusOK), time.Minute, ""},
		"refused":        {server(t, false, http.StatusNotFound), time.Minute, "the collector answers 404"},
		"sent elsewhere": {server(t, false, http.StatusFound), time.Minute, "the collector answers 302"},
		"not trusted":    {server(t, true, http.StatusOK), time.Minute, "certificate"},
		"not there":      {"http://127.0.0.1:1", time.Minute, "connection refused"},
		"silent":         {"http://" + silent.Addr().String(), 50 * time.Millisecond, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := (collector{endpoint: u, header: http.Header{}, timeout: tc.timeout}).post(t.Context(), []byte("x")); err != nil {
				got = err.Error()
			}
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got error %q, want %q", got, tc.want)
			}
		})
	}
}
