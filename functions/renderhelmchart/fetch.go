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

// maxFetch is how long fetching a chart may take.
const maxFetch = time.Minute

// ociScheme begins the addresses of registries.
const ociScheme = "oci://"

// fetch downloads the archive of a chart from its repository or registry.
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

// versions are those of a chart that will do: the highest of them is fetched.
type versions struct {
	text        string
	constraints *semver.Constraints
}

// newVersions parses a version or constraint. Without one, all versions but pre-releases will do.
func newVersions(text string) (versions, error) {
	text = cmp.Or(text, "*")
	constraints, err := semver.NewConstraint(text)
	if err != nil {
		return versions{}, fmt.Errorf("version %q: %w", text, err)
	}
	return versions{text, constraints}, nil
}

// exact returns whether only one version will do.
func (v versions) exact() bool {
	_, err := semver.StrictNewVersion(v.text)
	return err == nil
}

// best returns the place of the version to fetch, -1 if none will do. Texts that are no versions are passed over.
func (v versions) best(of []string) int {
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

// shown is a URL as errors may show it: without what may be a credential.
func shown(location string) string {
	parsed, err := url.Parse(location)
	if err != nil {
		return "a URL that cannot be read"
	}
	parsed.User, parsed.RawQuery, parsed.Fragment = nil, "", ""
	return parsed.String()
}
