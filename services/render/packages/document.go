// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// document is a part of a file.
type document struct {
	// separator is the line between this document and the one before, with its end; "" for the first.
	separator string
	// text is what follows, up to the next separator. It may begin with a separator of its own.
	text string
	// resource is what the text says; nil where that is nothing, or comments only.
	resource *yaml.RNode
}

// split splits a file where lines begin with three dashes. Together, the documents are the file. The last line of a file
// is no separator unless it ends. The error is kyaml's.
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

// isSeparator tells whether nothing but a comment follows the dashes that a line begins with.
func isSeparator(line string) bool {
	behind, dashes := strings.CutPrefix(line, "---")
	behind = strings.TrimSpace(behind)
	return dashes && (behind == "" || behind[0] == '#')
}

// headed returns what a resource is printed as, behind the separator that the document begins with. The comment behind its dashes,
// which readers take for the first line above the resource, stays where it was, unless the resource has lost it.
func (d *document) headed(printed string) string {
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
