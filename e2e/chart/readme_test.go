// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// readmeSection is a table of values; readmeValue is a line of it.
type readmeSection struct {
	Title, Text string
	Values      []readmeValue
}

type readmeValue struct{ Name, Default, Text string }

// described tells whether a mapping has values of its own, with a comment each, and is no value as a whole.
func described(node *yaml.Node) bool {
	return node.Kind == yaml.MappingNode && slices.ContainsFunc(node.Content, func(n *yaml.Node) bool { return n.HeadComment != "" || described(n) })
}

// sections returns the values of values.yaml in its order: those of each mapping together, and the others before them.
func sections(t *testing.T, mapping *yaml.Node) []*readmeSection {
	t.Helper()
	all := []*readmeSection{{Title: "Function runners, and all", Text: "Where nothing else is said, these are the function runners'."}}
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
		t.Errorf("values.yaml does not say what %s%s is", prefix, key.Value)
	}
	var set any
	if err := value.Decode(&set); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return readmeValue{Name: prefix + key.Value, Default: "`" + cell(string(text)) + "`", Text: inMarkdown(key.HeadComment)}
}

// cell has text for a table, where a bar would begin the next column.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// inMarkdown returns a comment as text of a table. Lines of it that are indented are code.
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

// The page says what the values say of themselves.
func TestChartReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	page, err := template.ParseFiles(filepath.Join(chartDir(t), "README.md.gotmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var made strings.Builder
	err = page.Execute(&made, map[string]any{
		"KubeVersion": strings.TrimSuffix(strings.TrimPrefix(loadChart(t).Metadata.KubeVersion, ">= "), "-0") + " or newer",
		"Sections":    sections(t, document.Content[0]),
	})
	if err != nil {
		t.Fatal(err)
	}
	upToDate(t, filepath.Join(chartDir(t), "README.md"), made.String(), "go -C e2e test ./chart -run TestChartReadme -update")
}
