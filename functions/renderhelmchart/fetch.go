// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// maxFetch is the timeout for fetching a chart.
const maxFetch = time.Minute

// ociScheme is the prefix of registry addresses.
const ociScheme = "oci://"

// fetch downloads a chart's archive from its repository or registry.
func (c chartConfig) fetch(ctx context.Context, items fn.KubeObjects) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxFetch)
	defer cancel()
	login, err := c.ChartArgs.Auth.login(items)
	if err != nil {
		return nil, err
	}
	wanted, err := newVersions(c.ChartArgs.Version)
	if err != nil {
		return nil, err
	}
	from := cmp.Or(c.ChartArgs.Registry, c.ChartArgs.Repo)
	if c.ChartArgs.Registry != "" || strings.HasPrefix(from, ociScheme) {
		return pull(ctx, strings.TrimSuffix(strings.TrimPrefix(from, ociScheme), "/")+"/"+c.ChartArgs.Name, wanted, login)
	}
	return download(ctx, from, c.ChartArgs.Name, wanted, login)
}

// versions selects acceptable versions of a chart. The highest one is fetched.
type versions struct {
	text        string
	constraints *semver.Constraints
}

// newVersions parses a version or constraint. An empty text accepts all versions except pre-releases.
func newVersions(text string) (versions, error) {
	text = cmp.Or(text, "*")
	constraints, err := semver.NewConstraint(text)
	if err != nil {
		return versions{}, fmt.Errorf("version %q: %w", text, err)
	}
	return versions{text, constraints}, nil
}

// exact reports whether only one version is acceptable.
func (v versions) exact() bool {
	_, err := semver.StrictNewVersion(v.text)
	return err == nil
}

// highest returns the index of the highest acceptable version, or -1. It ignores texts that are not versions.
func (v versions) highest(of []string) int {
	place := -1
	var best *semver.Version
	for i, text := range of {
		found, err := semver.NewVersion(text)
		if err == nil && v.constraints.Check(found) && (best == nil || found.GreaterThan(best)) {
			place, best = i, found
		}
	}
	return place
}

// redacted returns a URL for error messages, without parts that may contain credentials.
func redacted(location string) string {
	parsed, err := url.Parse(location)
	if err != nil {
		return "a URL that cannot be read"
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
