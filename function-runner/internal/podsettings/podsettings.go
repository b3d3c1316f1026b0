// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podsettings reads the file that --pod-cache-config names: what differs from the flags for the pods of single
// functions, and which functions are to have pods before the first call.
package podsettings

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeyaml "sigs.k8s.io/yaml"
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

// Problem is something in the file that does not make sense, and that can be done without.
type Problem struct {
	// Line is where it is, from 1.
	Line int
	// Text says what it is.
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Parse reads a file: a list of Settings, or as files of older installations have it, a mapping from image to time to live.
// An entry that makes no sense is left out and a problem, and so is an unknown field; text of any other shape is an error
// with its line.
func Parse(text []byte) ([]Settings, []Problem, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	// An installation without settings has an empty file.
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil, nil
	}
	p := &parser{seen: map[string]bool{}}
	switch root := doc.Content[0]; root.Kind {
	case yaml.SequenceNode:
		for _, item := range root.Content {
			p.entry(item)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(root.Content); i += 2 {
			p.older(root.Content[i], root.Content[i+1])
		}
	default:
		return nil, nil, fmt.Errorf("line %d: want a list of functions", root.Line)
	}
	return p.settings, p.problems, nil
}

type parser struct {
	settings []Settings
	problems []Problem
	seen     map[string]bool
}

func (p *parser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{line, fmt.Sprintf(format, args...)})
}

// entry reads an entry of the list.
func (p *parser) entry(item *yaml.Node) {
	text, err := yaml.Marshal(item)
	if err != nil {
		p.problem(item.Line, "%v", err)
		return
	}
	var s Settings
	if err := kubeyaml.UnmarshalStrict(text, &s); err != nil {
		p.problem(item.Line, "%s", plain(err))
		// What is known may stand beside what is not.
		s = Settings{}
		if kubeyaml.Unmarshal(text, &s) != nil {
			return
		}
	}
	p.add(item.Line, &s)
}

// plain is the text of an error without what tells of the ways in which it came about.
func plain(err error) string {
	text := err.Error()
	for _, prefix := range []string{"error unmarshaling JSON: ", "error converting YAML to JSON: ", "while decoding JSON: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// older reads an entry of the mapping.
func (p *parser) older(key, value *yaml.Node) {
	ttl, err := time.ParseDuration(value.Value)
	if value.Kind != yaml.ScalarNode || err != nil {
		p.problem(value.Line, "the time to live of %s is no duration such as 30m", key.Value)
	}
	p.add(key.Line, &Settings{Image: key.Value, TTL: metav1.Duration{Duration: ttl}})
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
