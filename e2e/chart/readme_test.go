// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/krmfn/krmfn/e2e/generated"
)

// readmeSection is a table of values. readmeValue is a row of the table.
type readmeSection struct {
	Title, Text string
	Values      []readmeValue
}

type readmeValue struct{ Name, Type, Default, Text string }

// described reports whether a mapping contains commented values. A mapping without comments inside is a single value.
func described(node *yaml.Node) bool {
	return node.Kind == yaml.MappingNode && slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.HeadComment != "" || described(n) })
}

// sections returns the values of values.yaml in their order. Each described mapping is a section; the other values come first.
func sections(t *testing.T, mapping *yaml.Node) []*readmeSection {
	t.Helper()
	all := []*readmeSection{{Title: "Function runner and general settings"}}
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if !described(value) {
			all[0].Values = append(all[0].Values, readmeLine(t, "", key, value))
			continue
		}
		section := &readmeSection{Title: key.Value, Text: inMarkdown(key.HeadComment)}
		section.add(t, key.Value+".", value)
		all = append(all, section)
	}
	return all
}

func (s *readmeSection) add(t *testing.T, prefix string, mapping *yaml.Node) {
	t.Helper()
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		if described(value) {
			s.add(t, prefix+key.Value+".", value)
			continue
		}
		s.Values = append(s.Values, readmeLine(t, prefix, key, value))
	}
}

func readmeLine(t *testing.T, prefix string, key, value *yaml.Node) readmeValue {
	t.Helper()
	if key.HeadComment == "" {
		t.Errorf("values.yaml has no comment for %s%s", prefix, key.Value)
	}
	var set any
	if err := value.Decode(&set); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return readmeValue{Name: prefix + key.Value, Type: typeOf(t, prefix+key.Value), Default: "`" + cell(string(text)) + "`", Text: inMarkdown(key.HeadComment)}
}

// typeNames maps names of shared schema definitions to the type names in the README.
var typeNames = map[string]string{
	"strings": "map of strings", "labels": "map of strings", "annotations": "map of strings", "args": "list of strings", "env": "list of variables", "pullSecrets": "list of names",
	"duration": "duration", "positiveDuration": "duration", "share": "number or percentage", "resources": "object", "strategy": "object", "securityContext": "object", "podSecurityContext": "object",
	"volumes": "list of objects", "mounts": "list of objects", "objects": "list of objects", "podTolerations": "list of objects", "prepullTolerations": "list of strings",
}

// typeOf returns the type of a value as shown in the README.
func typeOf(t *testing.T, name string) string {
	t.Helper()
	root := readSchema(t)
	at := root
	for step := range strings.SplitSeq(name, ".") {
		if at = at.Properties[step]; at == nil {
			t.Errorf("values.schema.json does not have %s", name)
			return ""
		}
	}
	if shared, is := strings.CutPrefix(at.Ref, "#/definitions/"); is {
		if typeNames[shared] != "" {
			return typeNames[shared]
		}
		at = root.Definitions[shared]
	}
	switch {
	case at.Enum != nil:
		return "string"
	case at.Type == "integer":
		return "number"
	case at.Type == "array" && at.Items.Type == "string":
		return "list of strings"
	case at.Type == "array":
		return "list of objects"
	}
	if several, are := at.Type.([]any); are {
		return strings.ReplaceAll(fmt.Sprint(several[0])+" or "+fmt.Sprint(several[1]), "integer", "number")
	}
	return fmt.Sprint(at.Type)
}

// cell escapes text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// inMarkdown converts a comment to the text of a table cell. Indented lines become code.
func inMarkdown(comment string) string {
	var text strings.Builder
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ")
		switch code := strings.TrimLeft(line, " "); {
		case code != line:
			text.WriteString("<br>`" + cell(strings.TrimPrefix(line, "  ")) + "`")
		case text.Len() > 0:
			text.WriteString(" " + cell(line))
		default:
			text.WriteString(cell(line))
		}
	}
	return text.String()
}

// The chart's README matches the comments in values.yaml.
func TestChartReadme(t *testing.T) {
	t.Parallel()
	page, err := template.ParseFiles(filepath.Join(chartDir(t), "README.md.gotmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var made strings.Builder
	err = page.Execute(&made, map[string]any{
		"KubeVersion": strings.TrimSuffix(strings.TrimPrefix(loadChart(t).Metadata.KubeVersion, ">= "), "-0") + " or newer",
		"Sections":    sections(t, readValues(t)),
	})
	if err != nil {
		t.Fatal(err)
	}
	generated.Check(t, filepath.Join(chartDir(t), "README.md"), made.String(), *update, "go -C e2e test ./chart -run TestChartReadme -update")
}
