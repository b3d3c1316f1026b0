// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resourcelist

import (
	"bytes"
	"unicode/utf8"
)

// printable tells whether a document holds only characters that YAML takes as they are, and no line end but \n.
func printable(doc []byte) bool {
	for i := 0; i < len(doc); {
		c := doc[i]
		if c < utf8.RuneSelf {
			if (c < ' ' && c != '\n') || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(doc[i:])
		if (r == utf8.RuneError && n == 1) || r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || (r > 0xfffd && r < 0x10000) {
			return false
		}
		i += n
	}
	return true
}

func isDash(content []byte) bool { return len(content) > 1 && content[0] == '-' && content[1] == ' ' }

// plainKey are the characters of keys that never need a second look.
var plainKey = func() (set [256]bool) {
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-" {
		set[c] = true
	}
	return set
}()

// maxKey is less than YAML permits for a key that is followed by a colon in its line.
const maxKey = 1000

// cutKey splits "key: value" and "key:". It returns no key for content that has none, and false where it is not certain.
func cutKey(content []byte) (key, value []byte, ok bool) {
	n := 0
	for n < len(content) && plainKey[content[n]] {
		n++
	}
	if n == 0 || content[0] == '-' || n == len(content) || content[n] != ':' {
		return nil, nil, !bytes.Contains(content, []byte(": ")) && !bytes.HasSuffix(content, []byte(":"))
	}
	if n > maxKey {
		return nil, nil, false
	}
	if rest := content[n+1:]; len(rest) == 0 || rest[0] == ' ' {
		return content[:n], bytes.TrimLeft(rest, " "), true
	}
	return nil, nil, !bytes.Contains(content, []byte(": ")) && !bytes.HasSuffix(content, []byte(":"))
}

// scalar takes in a value, and the lines of a block scalar. Nothing behind a key means that a collection, or null, is next.
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
	value = plain(value)
	return !bytes.Contains(value, []byte(": ")) && value[len(value)-1] != ':'
}

// plain cuts a comment and the space before it.
func plain(value []byte) []byte {
	if n := bytes.Index(value, []byte(" #")); n >= 0 {
		value = value[:n]
	}
	return bytes.TrimRight(value, " ")
}

// quoted tells whether a quoted scalar ends in its line, with nothing but a comment behind it.
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

// block takes in the lines of a literal or folded scalar. Its content is indented further than the collection it is in, as
// far as its first line is.
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
			// Spaces alone before the first line would count as its indentation.
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
