// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
)

// encoded returns a value as it is in a Kptfile. A node's own Encode cannot read back what it makes of text of several lines
// that begins with a space.
func encoded(value any) (*yaml.Node, error) {
	text, err := printed(value)
	var n yaml.Node
	if err == nil {
		err = yaml.Unmarshal(text, &n)
	}
	if err != nil {
		return nil, fmt.Errorf("encode for the Kptfile: %w", err)
	}
	return n.Content[0], nil
}

// printed prints a value with the indentation of a Kptfile.
func printed(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.DefaultSeqIndent()
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// lists are the texts of lists, by the only item that each has in a Kptfile until it is printed. Functions may have a result
// for each field of each resource, and to encode and print all of them as one takes longer than most functions do.
type lists map[string][]byte

// encodedStatus returns a status without its results, which are in lists.
func encodedStatus(s *kptfilev1.RenderStatus) (*yaml.Node, lists, error) {
	l, head := lists{}, *s
	for _, steps := range []*[]kptfilev1.PipelineStepResult{&head.MutationSteps, &head.ValidationSteps} {
		*steps = slices.Clone(*steps)
		for i := range *steps {
			step := &(*steps)[i]
			for _, results := range []*[]fnresultv1.ResultItem{&step.Results, &step.ErrorResults} {
				if err := l.take(results); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	n, err := encoded(head)
	if err != nil {
		return nil, nil, err
	}
	l.place(n)
	return n, l, nil
}

// printedTogether is how many results are printed by one encoder, which holds on to all that it has printed.
const printedTogether = 20

// take prints results, and puts one in their place.
func (l lists) take(results *[]fnresultv1.ResultItem) error {
	if len(*results) == 0 {
		return nil
	}
	parts := slices.Collect(slices.Chunk(*results, printedTogether))
	texts := make([][]byte, len(parts))
	err := parallel.Each(len(parts), func(i int) (err error) {
		texts[i], err = printed(parts[i])
		return err
	})
	if err != nil {
		return fmt.Errorf("encode results for the Kptfile: %w", err)
	}
	name := "results-" + rand.Text()
	l[name] = slices.Concat(texts...)
	*results = []fnresultv1.ResultItem{{Message: name}}
	return nil
}

// place has the items of lists be nothing but their names.
func (l lists) place(n *yaml.Node) {
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && l[n.Content[1].Value] != nil {
		*n = *n.Content[1]
		return
	}
	for _, below := range n.Content {
		l.place(below)
	}
}

// fill puts the texts of lists where their names are in the text of a Kptfile.
func (l lists) fill(text []byte) []byte {
	var filled bytes.Buffer
	for line := range bytes.Lines(text) {
		item := bytes.TrimLeft(line, " ")
		name, isItem := bytes.CutPrefix(bytes.TrimSuffix(item, []byte("\n")), []byte("- "))
		list := l[string(name)]
		if !isItem || list == nil {
			filled.Write(line)
			continue
		}
		indent := strings.Repeat(" ", len(line)-len(item))
		for line := range bytes.Lines(list) {
			if len(line) > 1 {
				filled.WriteString(indent)
			}
			filled.Write(line)
		}
	}
	return filled.Bytes()
}
