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
	// minPause and maxPause limit how long a server's Retry-After is obeyed. defaultPause applies if a server sends none.
	minPause     = time.Second
	maxPause     = 15 * time.Minute
	defaultPause = 10 * time.Second
	// maxHosts is the maximum number of servers that are remembered.
	maxHosts = 256
)

// throttle is a transport that sends no requests to servers that have asked for a pause. Such requests would count against the rate
// limit, and prolong the pause. Errors are *ThrottledError.
type throttle struct {
	http.RoundTripper

	mu sync.Mutex
	// until is the end of each server's pause, by host and port.
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

// pause records a server's pause. The latest end is kept, because responses may arrive in any order.
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

// retryAfter parses the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	pause := defaultPause
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		// Limit the number first, so that it fits into a time.Duration.
		pause = time.Duration(min(max(seconds, 0), int64(maxPause/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, minPause), maxPause)
}
