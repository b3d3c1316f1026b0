// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// download downloads a chart from an HTTP repository.
func download(ctx context.Context, repository, chart string, wanted versions, login login) ([]byte, error) {
	base, err := url.Parse(strings.TrimSuffix(repository, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("repository: %s", redacted(repository))
	}
	index, err := get(ctx, base.JoinPath("index.yaml").String(), login)
	if err != nil {
		return nil, err
	}
	location, err := locate(index, chart, wanted)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", redacted(repository), err)
	}
	to, err := base.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("repository %s: its index has a location of %s that cannot be read", redacted(repository), chart)
	}
	if !sameServer(to, base) {
		// Other servers, such as object storage, must not get the repository's credentials.
		login.username, login.password = "", ""
	}
	return get(ctx, to.String(), login)
}

// locate returns the location of a chart in a repository's index.
func locate(index []byte, chart string, wanted versions) (string, error) {
	var typed struct {
		Entries map[string][]struct {
			Version string   `json:"version"`
			URLs    []string `json:"urls"`
		} `json:"entries"`
	}
	if err := yaml.Unmarshal(index, &typed); err != nil {
		return "", errors.New("its index cannot be read")
	}
	var there, locations []string
	for _, entry := range typed.Entries[chart] {
		if len(entry.URLs) > 0 {
			there, locations = append(there, entry.Version), append(locations, entry.URLs[0])
		}
	}
	at := wanted.highest(there)
	if at < 0 {
		return "", fmt.Errorf("it has no %s of version %s", chart, wanted.text)
	}
	return locations[at], nil
}

// maxRedirects is the maximum number of redirects per request, as in net/http.
const maxRedirects = 10

// client follows redirects, and removes credentials from redirects to other servers.
var client = &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if !sameServer(next.URL, via[0].URL) {
		next.Header.Del("Authorization")
	}
	return nil
}}

func sameServer(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// get downloads a file of at most maxChart bytes.
func get(ctx context.Context, location string, login login) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("get %s: not a URL", redacted(location))
	}
	if login.username != "" {
		request.SetBasicAuth(login.username, login.password)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", redacted(location), withoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // only read from
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", redacted(location), statusText(response.StatusCode))
	}
	data, err := readAtMost(response.Body, maxChart)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", redacted(location), err)
	}
	return data, nil
}

// statusText describes an HTTP status, with advice if credentials are missing or wrong.
func statusText(status int) string {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		text += ": check the Secret of chartArgs.auth"
	}
	return text
}

// withoutURL removes the URL from a request's error, because it may contain credentials.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
