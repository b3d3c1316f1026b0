// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"path"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// splice returns the content of a file after its resources are replaced, matching resources by index. Unchanged resources,
// documents with only comments, separators and line endings keep their bytes. FuzzSplice checks this.
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
	if s.writeResources(sorted) != nil {
		return PrintFile(resources)
	}
	return s.out.Bytes(), nil
}

// spliceJSON is splice for a JSON file with one resource.
func spliceJSON(file string, before []byte, r *yaml.RNode) ([]byte, error) {
	read, err := parse(before, file, "/")
	if err == nil && len(read) == 1 && yamlnode.Same(resource.WithoutPlace(read[0].Document()), resource.WithoutPlace(r.Document())) {
		return before, nil
	}
	return PrintFile([]*yaml.RNode{r})
}

// readers pools readers whose documents are used only until the next read.
var readers = sync.Pool{New: func() any { return &plainReader{reuse: true} }}

type splicing struct {
	reader *plainReader
	// documents are the remaining documents of the file. nextIndex is the index of the first resource among them.
	documents []document
	nextIndex int
	newline   string
	out       bytes.Buffer
	// separated is set if the output ends with a separator.
	separated bool
}

// writeResources writes the file with the given resources, which are sorted by index.
func (s *splicing) writeResources(sorted []indexed) error {
	for i, r := range sorted {
		if err := s.skipTo(r.index); err != nil {
			return err
		}
		if err := s.putResource(r, i == len(sorted)-1); err != nil {
			return err
		}
	}
	return s.skipTo(unindexed)
}

// skipTo moves to the document of the resource with this index. It drops resources in between and keeps documents with only
// comments.
func (s *splicing) skipTo(index int) error {
	for len(s.documents) > 0 && (s.nextIndex < index || index == unindexed) {
		d := s.documents[0]
		n, err := s.read(d.text)
		if err != nil {
			return err
		}
		if n == nil {
			s.write(d.separator, d.text)
		} else {
			s.nextIndex++
		}
		s.documents = s.documents[1:]
	}
	return nil
}

// read decodes a document like parse, without origin annotations. It returns nil for a document that is empty or has only
// comments.
func (s *splicing) read(text string) (*yaml.Node, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	n, ok := s.reader.read(text)
	if !ok {
		if n, ok = decodeDocument(text); ok && n == nil {
			return nil, nil //nolint:nilnil // The document is empty.
		}
	}
	// For other documents, adding and removing annotations changes the document. Read them as parse does.
	if ok && canAnnotateInPlace(n) {
		return n, nil
	}
	r, err := readAny(text, 0, "", "")
	if err != nil || r == nil {
		return nil, err
	}
	return resource.WithoutPlace(r.Document()), nil
}

// putResource writes a resource in place of the document with the same index, if there is one.
func (s *splicing) putResource(r indexed, last bool) error {
	content := resource.WithoutPlace(r.Document())
	var d document
	for len(s.documents) > 0 && s.nextIndex == r.index && d.text == "" {
		d, s.documents = s.documents[0], s.documents[1:]
		n, err := s.read(d.text)
		if err != nil {
			return err
		}
		if n == nil {
			s.write(d.separator, d.text)
			d = document{}
			continue
		}
		s.nextIndex++
		// A document without a final line end can be copied only to the end of the file.
		if (last || strings.HasSuffix(d.text, "\n")) && yamlnode.Same(n, content) {
			s.write(d.separator, d.text)
			return nil
		}
	}
	printed, err := printContent(r.RNode, content)
	if err != nil {
		return err
	}
	text := d.withSeparatorComment(string(printed))
	if s.newline != "\n" {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", s.newline)
	}
	s.write(d.separator, text)
	return nil
}

// write writes a separator and text. At the start of the file it drops a separator without a comment.
func (s *splicing) write(separator, text string) {
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

// isJSON reports whether a file with this number of resources is printed as JSON.
func isJSON(file string, resources int) bool { return resources == 1 && path.Ext(file) == ".json" }
