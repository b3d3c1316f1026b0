// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// printable reports whether a document contains only characters that YAML allows without escapes, and no line breaks other than line
// feeds.
func printable(doc []byte) bool {
	for {
		doc = doc[printableASCII(doc):]
		if len(doc) == 0 {
			return true
		}
		c := doc[0]
		if c < utf8.RuneSelf {
			if (c < ' ' && c != '\n') || c == 0x7f {
				return false
			}
			doc = doc[1:]
			continue
		}
		r, n := utf8.DecodeRune(doc)
		if (r == utf8.RuneError && n == 1) || r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || (r > 0xfffd && r < 0x10000) {
			return false
		}
		doc = doc[n:]
	}
}

// printableASCII returns the length of the longest prefix, in multiples of 8 bytes, that consists of printable ASCII characters and line
// feeds. It checks 8 bytes at once: the high bit of each byte of an expression reports whether the condition holds for that byte.
func printableASCII(doc []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(doc)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(doc[n:])
		graphic := (w | highs) - ' '*ones
		other := (w ^ '\n'*ones) + 0x7f*ones
		deleted := w + ones
		if (w|(^graphic&other)|deleted)&highs != 0 {
			break
		}
	}
	return n
}

// trimSpaces is bytes.TrimLeft for spaces, optimised for short runs.
func trimSpaces(text []byte) []byte {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	return text
}

func isDash(content []byte) bool { return len(content) > 1 && content[0] == '-' && content[1] == ' ' }

// simple contains the characters that are never special in keys and values.
var simple = func() (set [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-" {
		set[c] = true
	}
	return set
}()

// maxKey is the maximum length of a recognised key in bytes. YAML allows 1024.
const maxKey = 1000

// cutKey splits "key: value" or "key:". It returns an empty key if the content has none, and false if it does not recognise the
// content.
func cutKey(content []byte) (key, value []byte, ok bool) {
	n := simpleLength(content)
	if n == 0 || content[0] == '-' || n == len(content) || content[n] != ':' {
		return nil, nil, !bytes.Contains(content, []byte(": ")) && !bytes.HasSuffix(content, []byte(":"))
	}
	if n > maxKey {
		return nil, nil, false
	}
	if rest := content[n+1:]; len(rest) == 0 || rest[0] == ' ' {
		return content[:n], trimSpaces(rest), true
	}
	return nil, nil, !bytes.Contains(content, []byte(": ")) && !bytes.HasSuffix(content, []byte(":"))
}

// simpleLength returns the length of the longest prefix of simple characters.
func simpleLength(text []byte) int {
	for i, c := range text {
		if !simple[c] {
			return i
		}
	}
	return len(text)
}

// scalar consumes a value, and the lines of a block scalar. If nothing follows a key, its value is null, or a collection in the next
// lines.
func (s *scanner) scalar(value []byte, ofKey bool) bool {
	if len(value) == 0 || value[0] == '#' {
		s.open = ofKey
		return ofKey
	}
	switch c := value[0]; c {
	case '"', '\'':
		return quoted(value)
	case '|', '>':
		return s.block(value)
	case '[', '{':
		return inFlow(plain(value))
	case '&', '*', '!', '%', '@', '`', ',', ']', '}', '?', ':':
		return false
	case '-':
		if len(value) == 1 || value[1] == ' ' {
			return false
		}
	}
	if simpleLength(value) == len(value) {
		return true
	}
	value = plain(value)
	return !bytes.Contains(value, []byte(": ")) && value[len(value)-1] != ':'
}

// plain removes a comment and the space before it.
func plain(value []byte) []byte {
	if n := bytes.Index(value, []byte(" #")); n >= 0 {
		value = value[:n]
	}
	return bytes.TrimRight(value, " ")
}

// quoted reports whether a quoted scalar ends on its line, and is followed by a comment at most.
func quoted(value []byte) bool {
	quote, i := value[0], 1
	for ; i < len(value); i++ {
		switch {
		case quote == '"' && value[i] == '\\':
			if i++; i == len(value) || !bytes.ContainsRune([]byte(`"\/nt`), rune(value[i])) {
				return false
			}
		case value[i] != quote:
		case quote == '\'' && i+1 < len(value) && value[i+1] == quote:
			i++
		default:
			rest := value[i+1:]
			return len(bytes.TrimLeft(rest, " ")) == 0 || bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("#")) && rest[0] == ' '
		}
	}
	return false
}

// block consumes the lines of a literal or folded scalar. Its content is indented more than the enclosing collection; the first line
// determines how much.
func (s *scanner) block(header []byte) bool {
	switch string(plain(header)) {
	case "|", "|-", "|+", ">", ">-", ">+":
	default:
		return false
	}
	outer, inner := s.levels[len(s.levels)-1].indent, -1
	for s.next < len(s.doc) {
		start := s.next
		line := s.line()
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case indent == len(line):
			// A first line that consists of spaces would determine the indentation.
			if inner < 0 && indent > 0 {
				return false
			}
		case indent <= outer:
			s.next = start
			return true
		case inner < 0:
			inner = indent
		case indent < inner:
			return false
		}
	}
	return true
}
