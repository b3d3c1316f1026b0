// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/internal/yamlprint"
)

// spliceFields returns the text of a resource with those top-level fields replaced that differ in edited. Other fields,
// comments between fields, and blank lines keep their bytes. ok is false if fields were removed or reordered, or if the text is
// too complex to edit in place. FuzzSpliceFields checks this.
func spliceFields(before string, edited *yaml.Node) (after []byte, ok bool) {
	if strings.Contains(before, "\r") || strings.Contains(before, "\n---") || hidesText([]byte(before)) || !strings.HasSuffix(before, "\n") {
		return nil, false
	}
	n, ok := readPlainDocument(before)
	if !ok {
		n, ok = decodeDocument(before)
	}
	if !ok || n == nil || edited.Kind != yaml.DocumentNode {
		return nil, false
	}
	root, wanted := n.Content[0], edited.Content[0]
	regions, ok := fieldLines(before, root)
	if !ok || len(wanted.Content) < len(root.Content) {
		return nil, false
	}
	var text, stub strings.Builder
	begin := 0
	for i := 0; i < len(wanted.Content); i += 2 {
		key, value := wanted.Content[i], wanted.Content[i+1]
		next := region{len(before), len(before)}
		if i < len(root.Content) {
			next = regions[i/2]
			if root.Content[i].Value != key.Value {
				return nil, false
			}
			if yamlnode.Same(root.Content[i+1], value) {
				continue
			}
			root.Content[i].LineComment = ""
			root.Content[i+1] = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		} else {
			root.Content = append(root.Content, key, &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap})
		}
		own := *key
		own.HeadComment, own.FootComment = "", ""
		printed, err := yamlprint.Print(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{&own, value}}, yaml.WideSequenceStyle)
		if err != nil {
			return nil, false
		}
		text.WriteString(before[begin:next.begin] + string(printed))
		stub.WriteString(before[begin:next.begin] + key.Value + ": {}\n")
		begin = next.end
	}
	text.WriteString(before[begin:])
	stub.WriteString(before[begin:])
	// Verify the edit: with the replaced values set to {}, the text must decode to the original document without them.
	again, ok := decodeDocument(stub.String())
	return []byte(text.String()), ok && again != nil && yamlnode.Same(n, again)
}

// region is a range of byte offsets in a text.
type region struct{ begin, end int }

// fieldLines returns the region of each field of a block mapping: whole lines, without the comments above and below and without
// blank lines below.
func fieldLines(text string, root *yaml.Node) ([]region, bool) {
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 || root.Anchor != "" || root.Style&yaml.TaggedStyle != 0 {
		return nil, false
	}
	var lines []int // byte offsets of line starts
	at := 0
	for line := range strings.Lines(text) {
		lines = append(lines, at)
		at += len(line)
	}
	lines = append(lines, at)
	regions := make([]region, 0, len(root.Content)/2)
	for i := 0; i < len(root.Content); i += 2 {
		key, end := root.Content[i], len(lines)-1
		if i+2 < len(root.Content) {
			end = root.Content[i+2].Line - 1
		}
		first := key.Line - 1
		if key.Column != 1 || first < 0 || end >= len(lines) || first >= end || !strings.HasPrefix(text[lines[first]:], key.Value+":") {
			return nil, false
		}
		for ; end > first+1; end-- {
			if line := strings.TrimRight(text[lines[end-1]:lines[end]], " \n"); line != "" && line[0] != '#' {
				break
			}
		}
		regions = append(regions, region{lines[first], lines[end]})
	}
	return regions, true
}
