// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// tarEntry returns an entry whose header has the given size, whatever its content.
func tarEntry(t testing.TB, kind byte, name string, size int64, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: "first", Size: size, Mode: 0o644, Format: tar.FormatGNU}
	if err := tar.NewWriter(&packed).WriteHeader(&header); err != nil {
		t.Fatal(err)
	}
	block := packed.Bytes()[packed.Len()-512:]
	block[156] = kind
	checksum(block)
	return append(slices.Clone(block), content+strings.Repeat("\x00", -len(content)&511)...)
}

// checksum sets the checksum of a header.
func checksum(header []byte) {
	copy(header[148:156], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// paxRecords returns an entry with PAX records for the next entry.
func paxRecords(t testing.TB, records ...string) []byte {
	t.Helper()
	var text strings.Builder
	for _, r := range records {
		size := len(r) + 2 + len("00")
		fmt.Fprintf(&text, "%02d %s\n", size, r)
	}
	return tarEntry(t, 'x', "records", int64(text.Len()), text.String())
}

// endless repeats a text forever, and counts the bytes read.
type endless struct {
	text string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.read%int64(len(e.text)):])
	e.read += int64(n)
	return n, nil
}

// content is a layer with the given content.
type content struct {
	v1.Layer
	io.Reader
}

func (c content) Uncompressed() (io.ReadCloser, error) { return io.NopCloser(c.Reader), nil }

func openTree(t testing.TB, maxBytes int64, maxEntries int) *tree {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return newTree(root, maxBytes, maxEntries)
}

// Whatever a layer contains, unpacking ends soon after the limit.
func TestEndlessLayers(t *testing.T) {
	t.Parallel()
	const maxBytes, maxEntries = 1 << 20, 100
	const tooLarge, tooMany = "larger than images may be", "more files than images may have"
	for name, tc := range map[string]struct {
		begin, repeat []byte
		want          string
	}{
		"file":                           {begin: tarEntry(t, tar.TypeReg, "a", 1<<40, ""), want: tooLarge},
		"unknown type":                   {begin: tarEntry(t, 'Z', "a", 1<<40, ""), want: tooLarge},
		"reserved type":                  {begin: tarEntry(t, tar.TypeCont, "a", 1<<40, ""), want: tooLarge},
		"size in a record":               {begin: append(paxRecords(t, "size=1099511627776"), tarEntry(t, tar.TypeReg, "a", 0, "")...), want: tooLarge},
		"size in a record, unknown type": {begin: append(paxRecords(t, "size=1099511627776"), tarEntry(t, 'Z', "a", 0, "")...), want: tooLarge},
		"sparse file":                    {begin: slices.Concat(paxRecords(t, "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=a", "GNU.sparse.realsize=1099511627776"), tarEntry(t, tar.TypeReg, "a", 512, "0\n")), want: tooLarge},
		"headers without an entry":       {repeat: paxRecords(t, "comment=nothing"), want: tooLarge},
		"long names without an entry":    {repeat: tarEntry(t, tar.TypeGNULongName, "././@LongLink", 300, strings.Repeat("a", 300)), want: tooLarge},
		"empty files":                    {repeat: tarEntry(t, tar.TypeReg, "a", 0, ""), want: tooMany},
		"hard links":                     {begin: tarEntry(t, tar.TypeReg, "first", 0, ""), repeat: tarEntry(t, tar.TypeLink, "a", 0, ""), want: tooMany},
		"hard links with a size":         {begin: tarEntry(t, tar.TypeReg, "first", 0, ""), repeat: tarEntry(t, tar.TypeLink, "a", 1<<30, ""), want: tooMany},
		"whiteouts":                      {repeat: tarEntry(t, tar.TypeReg, ".wh.a", 0, ""), want: tooMany},
		"whiteouts with a size":          {begin: tarEntry(t, tar.TypeReg, ".wh.a", 1<<40, ""), want: tooLarge},
		"global headers":                 {repeat: tarEntry(t, tar.TypeXGlobalHeader, "g", 0, ""), want: tooMany},
		"devices":                        {repeat: tarEntry(t, tar.TypeChar, "a", 0, ""), want: tooMany},
		"entries of unknown types":       {repeat: tarEntry(t, 'Z', "a", 0, ""), want: tooMany},
		"deep directories":               {begin: slices.Concat(paxRecords(t, "path="+strings.Repeat("d/", 45)), tarEntry(t, tar.TypeDir, "d", 0, ""), paxRecords(t, "path="+strings.Repeat("e/", 45)), tarEntry(t, tar.TypeDir, "e", 0, ""), paxRecords(t, "path="+strings.Repeat("f/", 45)), tarEntry(t, tar.TypeDir, "f", 0, "")), want: tooMany},
		"zeros after the end":            {begin: tarEntry(t, tar.TypeReg, "a", 0, ""), want: tooLarge},
		"other content after the end":    {begin: make([]byte, 1024), repeat: []byte("after the end"), want: tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := &endless{text: string(tc.repeat)}
			if tc.repeat == nil {
				rest.text = strings.Repeat("\x00", 4096)
			}
			tree := openTree(t, maxBytes, maxEntries)
			err := tree.applyLayer(t.Context(), content{Reader: io.MultiReader(bytes.NewReader(tc.begin), rest)}, v1.Hash{})
			if !errors.As(err, new(*LimitError)) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("applyLayer() = %v, want %q", err, tc.want)
			}
			// Readers may have buffered more.
			if most := int64(maxBytes + maxEntries*maxHeaders + 2<<20); rest.read > most {
				t.Errorf("applyLayer() read %d bytes, want at most %d", rest.read, most)
			}
		})
	}
}

func TestEndlessLayerIsCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no longer needed")
	cancel(cause)
	endless := &endless{text: string(paxRecords(t, "comment=nothing"))}
	if err := openTree(t, 1<<40, 1).applyLayer(ctx, content{Reader: endless}, v1.Hash{}); !errors.Is(err, cause) {
		t.Errorf("applyLayer() after the context's end = %v, want %v", err, cause)
	}
}
