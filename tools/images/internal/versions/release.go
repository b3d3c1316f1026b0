// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"strings"
)

// Release is what one tag in git releases.
type Release struct {
	// Tag is the tag in git.
	Tag string
	// Chart tells whether the chart is part of it.
	Chart bool
	// Images are those that are part of it, sorted.
	Images []string
}

// Release says what a tag releases: vX.Y.Z the chart and the images of its version, IMAGE/vX.Y.Z one image. The empty tag
// stands for that of the chart's version. A tag of a version that the file does not have is an error.
func (v Versions) Release(tag string) (Release, error) {
	if tag == "" {
		tag = v.Chart
	}
	name, version, single := strings.Cut(tag, "/")
	if !single {
		return v.withChart(tag)
	}
	has, found := v.Images[name]
	if !found {
		return Release{}, fmt.Errorf("tag %s: there is no image %s: it is one of %s", tag, name, strings.Join(v.Names(), ", "))
	}
	if has != version {
		return Release{}, fmt.Errorf("tag %s: %s has %s for that image: change it before you tag", tag, File, has)
	}
	return Release{Tag: tag, Images: []string{name}}, nil
}

func (v Versions) withChart(tag string) (Release, error) {
	if tag != v.Chart {
		return Release{}, fmt.Errorf("tag %s: %s has %s for the chart: change it before you tag", tag, File, v.Chart)
	}
	r := Release{Tag: tag, Chart: true}
	for _, name := range v.Names() {
		if v.Images[name] == v.Chart {
			r.Images = append(r.Images, name)
		}
	}
	return r, nil
}
