// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podcacheconfig reads the file that --pod-cache-config names: what differs from the flags for the pods of single
// functions, and which functions are to have pods before the first call. The file is a list of Settings, or as older
// installations have it, a mapping from image to time to live.
package podcacheconfig

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/server/configfile"
)

// Settings are those of one function. What is zero is left to the flags.
type Settings struct {
	// Image is the function's image, exactly as calls have it once it has its prefix.
	Image string `json:"name"`
	// TTL is how long an idle pod is kept.
	TTL metav1.Duration `json:"timeToLive,omitzero"`
	// Waitlist is how many calls a pod may have before another is made.
	Waitlist int `json:"maxWaitlistLength,omitempty"`
	// MaxPods is the most pods, and MinPods how many are kept when they are idle.
	MaxPods int `json:"maxParallelPodsPerFunction,omitempty"`
	MinPods int `json:"minWarmPods,omitempty"`
	// MaxEvaluationTime is the most time that one evaluation may take.
	MaxEvaluationTime metav1.Duration `json:"maxEvaluationTime,omitzero"`
	// Resources take the place of those of the pod template.
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
}

// entry is a function in the file: an item of the list, or a name and its value in the mapping.
type entry struct {
	image string
	value configfile.Document
}

// entries returns the entries of a file. An installation without settings has an empty file.
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
		// What else is wrong with it is for those who want more than the name.
		_, _ = item.Decode(&named)
		all = append(all, entry{named.Name, item})
	}
	if !older && !isList {
		err = configfile.Problem{Line: doc.Line(), Text: "want a list of functions"}
	}
	return all, older, err
}

// Images returns the images of the functions in a file, whatever their settings, and the number of entries without one.
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

// Parse returns the settings in a file. A field whose value makes no sense is left to the flags and is a problem, and so is an
// unknown field; an entry without a name, or with that of another, is left out and a problem. Text of any other shape is an error
// with its line.
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

// settingsOf reads an item of the list.
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

// timeToLive reads a value of the mapping.
func (p *parser) timeToLive(e entry) {
	s := Settings{Image: e.image}
	if _, err := e.value.Decode(&s.TTL); err != nil {
		p.problem(e.value.Line(), "the time to live of %s is no duration such as 30m", e.image)
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
		p.problem(line, "%s has an entry already, which counts", s.Image)
		return
	}
	p.seen[s.Image] = true
	p.positive(line, s)
	p.settings = append(p.settings, *s)
}

// positive leaves out what is less than zero: it would delete pods that are in use, or make none.
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
