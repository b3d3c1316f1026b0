// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podcacheconfig parses the file of --pod-cache-config: pod settings of single functions that override flags, and the
// functions that get pods before the first call. The file is a list of Settings or, in older installations, a mapping from
// image to time to live.
package podcacheconfig

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

// Settings are the settings of one function. Flags apply to zero fields.
type Settings struct {
	// Image is the function's image including the image prefix, exactly as in calls.
	Image string `json:"name"`
	// TTL is the maximum idle time of a pod.
	TTL metav1.Duration `json:"timeToLive,omitzero"`
	// Waitlist is the number of calls per pod above which another pod is created.
	Waitlist int `json:"maxWaitlistLength,omitempty"`
	// MaxPods is the maximum number of pods. MinPods is the number of pods that are kept even if idle.
	MaxPods int `json:"maxParallelPodsPerFunction,omitempty"`
	MinPods int `json:"minWarmPods,omitempty"`
	// MaxEvaluationTime is the maximum duration of one evaluation.
	MaxEvaluationTime metav1.Duration `json:"maxEvaluationTime,omitzero"`
	// Resources replace the resources in the pod template.
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
}

// entry is a function in the file: an item of the list, or a key and value of the mapping.
type entry struct {
	image string
	value configfile.Document
}

// entries returns the entries of a file. An empty file has no entries.
func entries(text []byte) (all []entry, older bool, err error) {
	doc, err := configfile.Parse(text)
	if err != nil || doc.Empty() {
		return nil, false, err
	}
	fields, older := doc.Fields()
	for image, value := range fields {
		all = append(all, entry{image, value})
	}
	items, isList := doc.Items()
	for _, item := range items {
		var named struct {
			Name string `json:"name"`
		}
		// Parse reports other errors of the item.
		_, _ = item.Decode(&named)
		all = append(all, entry{named.Name, item})
	}
	if !older && !isList {
		err = configfile.Problem{Line: doc.Line(), Text: "want a list of functions"}
	}
	return all, older, err
}

// Images returns the images of all entries, even those with invalid settings, and the number of entries without an image.
func Images(text []byte) (images []string, nameless int, err error) {
	all, _, err := entries(text)
	for _, e := range all {
		if e.image == "" {
			nameless++
		} else {
			images = append(images, e.image)
		}
	}
	return images, nameless, err
}

// Parse returns the settings in a file. It reports a problem for each invalid value, whose field then stays zero, for each
// unknown field, and for each entry without a name or with a duplicate name, which is skipped. If the file has another
// structure, the error has the line.
func Parse(text []byte) ([]Settings, []configfile.Problem, error) {
	all, older, err := entries(text)
	p := &parser{seen: map[string]bool{}}
	for _, e := range all {
		if older {
			p.timeToLive(e)
		} else {
			p.settingsOf(e)
		}
	}
	return p.settings, p.problems, err
}

type parser struct {
	settings []Settings
	problems []configfile.Problem
	seen     map[string]bool
}

func (p *parser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, configfile.Problem{Line: line, Text: fmt.Sprintf(format, args...)})
}

// settingsOf parses an item of the list.
func (p *parser) settingsOf(e entry) {
	var s Settings
	problems, err := configfile.DecodeFields(e.value, &s)
	p.problems = append(p.problems, problems...)
	if problem, ok := errors.AsType[configfile.Problem](err); ok {
		p.problems = append(p.problems, problem)
		return
	}
	p.add(e.value.Line(), &s)
}

// timeToLive parses a value of the mapping.
func (p *parser) timeToLive(e entry) {
	s := Settings{Image: e.image}
	if _, err := e.value.Decode(&s.TTL); err != nil {
		p.problem(e.value.Line(), "the time to live of %s is not a duration such as 30m", e.image)
		s.TTL = metav1.Duration{}
	}
	p.add(e.value.Line(), &s)
}

func (p *parser) add(line int, s *Settings) {
	switch {
	case s.Image == "":
		p.problem(line, "the entry has no name: it must be the image of a function")
		return
	case p.seen[s.Image]:
		p.problem(line, "%s is a duplicate: the first entry is used", s.Image)
		return
	}
	p.seen[s.Image] = true
	p.positive(line, s)
	p.settings = append(p.settings, *s)
}

// positive resets negative values to zero. They would delete pods in use, or prevent the creation of pods.
func (p *parser) positive(line int, s *Settings) {
	for name, value := range map[string]*int{
		"maxWaitlistLength": &s.Waitlist, "maxParallelPodsPerFunction": &s.MaxPods, "minWarmPods": &s.MinPods,
	} {
		if *value < 0 {
			p.problem(line, "%s of %s is %d, want more than 0", name, s.Image, *value)
			*value = 0
		}
	}
	for name, value := range map[string]*metav1.Duration{"timeToLive": &s.TTL, "maxEvaluationTime": &s.MaxEvaluationTime} {
		if value.Duration < 0 {
			p.problem(line, "%s of %s is %v, want more than 0", name, s.Image, value.Duration)
			value.Duration = 0
		}
	}
	if s.MaxPods > 0 && s.MinPods > s.MaxPods {
		p.problem(line, "minWarmPods of %s is %d, want at most maxParallelPodsPerFunction, which is %d", s.Image, s.MinPods, s.MaxPods)
		s.MinPods = s.MaxPods
	}
}
