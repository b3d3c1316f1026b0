// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"path"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// splice returns a file with resources in the place of those that it has, each known by its index. What is the same keeps its
// bytes: resources, documents with comments only, separators, the ends of lines. FuzzSplice holds it to that.
func splice(file string, before []byte, resources []*yaml.RNode) ([]byte, error) {
	sorted, err := byIndex(resources)
	if err != nil {
		return nil, err
	}
	if isJSON(file, len(sorted)) {
		return spliceJSON(file, before, sorted[0].RNode)
	}
	documents, err := split(string(before))
	if err != nil || hidesText(before) {
		return PrintFile(resources)
	}
	s := splicing{documents: documents, newline: "\n"}
	s.out.Grow(2 * len(before))
	if ends := bytes.Count(before, []byte("\r\n")); ends > 0 && ends == bytes.Count(before, []byte("\n")) {
		s.newline = "\r\n"
	}
	s.reader, _ = readers.Get().(*plainReader)
	defer readers.Put(s.reader)
	if s.all(sorted) != nil {
		return PrintFile(resources)
	}
	return s.out.Bytes(), nil
}

// spliceJSON is splice for the only resource of a file of JSON.
func spliceJSON(file string, before []byte, r *yaml.RNode) ([]byte, error) {
	read, err := parse(before, file, "/")
	if err == nil && len(read) == 1 && yamlnode.Same(resource.WithoutPlace(read[0].Document()), resource.WithoutPlace(r.Document())) {
		return before, nil
	}
	return PrintFile([]*yaml.RNode{r})
}

// readers are for documents that nobody needs any more after the next one.
var readers = sync.Pool{New: func() any { return &plainReader{again: true} }}

type splicing struct {
	reader *plainReader
	// documents are those that are left of the file, number the index of the next resource among them.
	documents []document
	number    int
	newline   string
	out       bytes.Buffer
	// separated says that the text ends with a separator.
	separated bool
}

// all writes the file with resources.
func (s *splicing) all(sorted []indexed) error {
	for i, r := range sorted {
		if err := s.skipTo(r.index); err != nil {
			return err
		}
		if err := s.place(r, i == len(sorted)-1); err != nil {
			return err
		}
	}
	return s.skipTo(unindexed)
}

// skipTo goes on to the document of the resource with an index. What it passes is without resources now.
func (s *splicing) skipTo(index int) error {
	for len(s.documents) > 0 && (s.number < index || index == unindexed) {
		d := s.documents[0]
		n, err := s.read(d.text)
		if err != nil {
			return err
		}
		if n == nil {
			s.add(d.separator, d.text)
		} else {
			s.number++
		}
		s.documents = s.documents[1:]
	}
	return nil
}

// read reads a document as parse does, without annotations; nil where it has nothing, or only comments.
func (s *splicing) read(text string) (*yaml.Node, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	n, ok := s.reader.read(text)
	if !ok {
		if n, ok = decodeDocument(text); ok && n == nil {
			return nil, nil //nolint:nilnil // There is nothing in it.
		}
	}
	// Annotating any other one leaves traces.
	if ok && plain(n) {
		return n, nil
	}
	r, err := readAny(text, 0, "", "")
	if err != nil || r == nil {
		return nil, err
	}
	return resource.WithoutPlace(r.Document()), nil
}

// place adds a resource, in the place of the one that had its index where there is one.
func (s *splicing) place(r indexed, last bool) error {
	content := resource.WithoutPlace(r.Document())
	var d document
	for len(s.documents) > 0 && s.number == r.index && d.text == "" {
		d, s.documents = s.documents[0], s.documents[1:]
		n, err := s.read(d.text)
		if err != nil {
			return err
		}
		if n == nil {
			s.add(d.separator, d.text)
			d = document{}
			continue
		}
		s.number++
		// The end of a file may be the end of a text: it is not when something follows.
		if (last || strings.HasSuffix(d.text, "\n")) && yamlnode.Same(n, content) {
			s.add(d.separator, d.text)
			return nil
		}
	}
	printed, err := printContent(r.RNode, content)
	if err != nil {
		return err
	}
	text := d.headed(string(printed))
	if s.newline != "\n" {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", s.newline)
	}
	s.add(d.separator, text)
	return nil
}

// add adds a document. The first one has no separator, unless there is a comment in it.
func (s *splicing) add(separator, text string) {
	switch {
	case s.out.Len() == 0:
		if strings.TrimSpace(separator) == "---" {
			separator = ""
		}
	case !bytes.HasSuffix(s.out.Bytes(), []byte("\n")):
		s.out.WriteString(s.newline)
		fallthrough
	default:
		if separator == "" && !s.separated {
			separator = "---" + s.newline
		}
	}
	s.out.WriteString(separator)
	s.out.WriteString(text)
	s.separated = s.out.Len() > 0 && text == ""
}

// isJSON tells whether so many resources of a file are printed as JSON.
func isJSON(file string, resources int) bool { return resources == 1 && path.Ext(file) == ".json" }
