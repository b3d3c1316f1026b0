// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// minPause and maxPause bound how long a server may keep itself from being asked, and defaultPause is for one that does not
	// say.
	minPause     = time.Second
	maxPause     = 15 * time.Minute
	defaultPause = 10 * time.Second
	// maxHosts bounds the servers that are remembered; those that spoke longest ago go first.
	maxHosts = 256
)

// throttle does not send requests to servers that want none for now. Each of them would count against the limit, and put off
// the time when it is below it again. Errors are *ThrottledError.
type throttle struct {
	http.RoundTripper

	mu sync.Mutex
	// until is when each server may be asked again, by host and port.
	until *lru.Cache[string, time.Time]
}

func newThrottle(inner http.RoundTripper) *throttle {
	return &throttle{RoundTripper: inner, until: newLRU[string, time.Time](maxHosts)}
}

func (t *throttle) RoundTrip(request *http.Request) (*http.Response, error) {
	host := strings.ToLower(request.URL.Host)
	if until, ok := t.paused(host); ok {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, &ThrottledError{host, until}
	}
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	after := response.Header.Get("Retry-After")
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable && after != "" {
		_ = response.Body.Close()
		return nil, &ThrottledError{host, t.pause(host, after)}
	}
	return response, nil
}

func (t *throttle) paused(host string) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	until, ok := t.until.Get(host)
	return until, ok && time.Now().Before(until)
}

// pause notes a server's word. The latest time counts: answers to several requests may come in any order.
func (t *throttle) pause(host, after string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	until := now.Add(retryAfter(after, now))
	if before, ok := t.until.Get(host); ok && before.After(until) {
		return before
	}
	t.until.Add(host, until)
	return until
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	pause := defaultPause
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		// As many as fit into a duration.
		pause = time.Duration(min(max(seconds, 0), int64(maxPause/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, minPause), maxPause)
}
