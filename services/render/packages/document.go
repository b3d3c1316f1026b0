// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// document is one YAML document of a file.
type document struct {
	// separator is the line before the document, with its line end; "" for the first document.
	separator string
	// text is everything up to the next separator. It may begin with another separator line.
	text string
	// resource is the parsed document; nil if the document is empty or has only comments.
	resource *yaml.RNode
}

// split cuts a file at lines that begin with three dashes. The concatenation of all documents is the file. A last line without
// a line end is never a separator. The error text is kyaml's.
func split(content string) ([]document, error) {
	documents := make([]document, 0, strings.Count(content, "\n---")+1)
	separator := ""
	for {
		at := strings.Index(content, "\n---")
		if at < 0 {
			return append(documents, document{separator: separator, text: content}), nil
		}
		line, rest, ended := strings.Cut(content[at+1:], "\n")
		if !isSeparator(line) {
			return nil, fmt.Errorf("invalid document separator: %s", strings.TrimSpace(line))
		}
		if !ended {
			return append(documents, document{separator: separator, text: content}), nil
		}
		documents = append(documents, document{separator: separator, text: content[:at+1]})
		separator, content = content[at+1:len(content)-len(rest)], rest
	}
}

// isSeparator reports whether a line consists of three dashes and optionally a comment.
func isSeparator(line string) bool {
	behind, dashes := strings.CutPrefix(line, "---")
	behind = strings.TrimSpace(behind)
	return dashes && (behind == "" || behind[0] == '#')
}

// withSeparatorComment returns the printed resource, preceded by the separator line that the document's text begins with, if
// any. Readers take a comment on that line for the resource's first head comment. The comment therefore stays on the separator
// line, unless the resource no longer begins with it.
func (d *document) withSeparatorComment(printed string) string {
	line, rest, ended := strings.Cut(d.text, "\n")
	comment, dashes := strings.CutPrefix(line, "---")
	if !ended || !dashes || !isSeparator(line) {
		return printed
	}
	if comment = strings.TrimSpace(comment); comment != "" {
		first, below, _ := strings.Cut(printed, "\n")
		if strings.TrimSpace(first) != comment {
			return printed
		}
		printed = below
	}
	return d.text[:len(d.text)-len(rest)] + printed
}
