// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package workerprotocol

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// The bytes are a promise to workers in other languages.
func TestFrames(t *testing.T) {
	t.Parallel()
	var request, answer bytes.Buffer
	if err := WriteRequest(&request, []byte("list")); err != nil {
		t.Fatal(err)
	}
	if err := WriteAnswer(&answer, Answer{ExitCode: 3, Stdout: []byte("output")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("\x00\x00\x00\x04list", request.String()); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("\x00\x00\x00\x03\x00\x00\x00\x06output", answer.String()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestMessagesComeBack(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, buffered, buffered + 1, trusted, trusted + 1, 3 * trusted} {
		body := bytes.Repeat([]byte("x"), size)
		var stream bytes.Buffer
		if err := errors.Join(WriteRequest(&stream, body), WriteAnswer(&stream, Answer{ExitCode: 255, Stdout: body})); err != nil {
			t.Fatal(err)
		}
		in := iotest.HalfReader(&stream)
		list, err := ReadRequest(in)
		if err != nil || !bytes.Equal(list, body) {
			t.Errorf("a request of %d bytes came back with %d, error %v", size, len(list), err)
		}
		answer, err := ReadAnswer(in, int64(size))
		if err != nil || answer.ExitCode != 255 || !bytes.Equal(answer.Stdout, body) {
			t.Errorf("an answer of %d bytes came back with %d and code %d, error %v", size, len(answer.Stdout), answer.ExitCode, err)
		}
		if _, err := ReadRequest(in); !errors.Is(err, io.EOF) {
			t.Errorf("after the last message: %v, want io.EOF", err)
		}
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stream string
		want   error
	}{
		"the end":             {"", io.EOF},
		"an end in the head":  {"\x00\x00", io.ErrUnexpectedEOF},
		"an end in the body":  {"\x00\x00\x00\x00\x00\x00\x00\x05four", io.ErrUnexpectedEOF},
		"a list":              {"apiVersion: config.kubernetes.io/v1\n", ErrMalformed},
		"no such exit code":   {"\x00\x00\x01\x00\x00\x00\x00\x00", ErrMalformed},
		"more than it may be": {"\x00\x00\x00\x00\x00\x00\x00\x0btoo large..", &TooLargeError{Size: 11, Limit: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadAnswer(strings.NewReader(test.stream), 10)
			if tooLarge := new(TooLargeError); errors.As(test.want, &tooLarge) {
				if diff := cmp.Diff(test.want, err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			} else if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]error{
		Greeting: nil, "": io.EOF, "krmfn": io.ErrUnexpectedEOF, "usage: fn": ErrMalformed, "krmfn worker 2\n": ErrMalformed, "apiVersion: config.kubernetes.io/v1": ErrMalformed,
	} {
		if err := ReadGreeting(strings.NewReader(said)); !errors.Is(err, want) {
			t.Errorf("of %q: got error %v, want %v", said, err, want)
		}
	}
}

func TestAnswersThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-1, 256} {
		if err := WriteAnswer(io.Discard, Answer{ExitCode: code}); !errors.Is(err, ErrMalformed) {
			t.Errorf("exit code %d: got error %v, want %v", code, err, ErrMalformed)
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	upper := func(list []byte) (Answer, bool) {
		return Answer{ExitCode: len(list), Stdout: bytes.ToUpper(list)}, string(list) == "last"
	}
	requests := func(lists ...string) string {
		var all bytes.Buffer
		for _, list := range lists {
			if err := WriteRequest(&all, []byte(list)); err != nil {
				t.Fatal(err)
			}
		}
		return all.String()
	}
	for name, test := range map[string]struct {
		in      string
		want    []string
		wantErr error
	}{
		"nothing":        {"", nil, nil},
		"some":           {requests("a", "", "bc"), []string{"A", "", "BC"}, nil},
		"up to the last": {requests("a", "last", "b"), []string{"A", "LAST"}, nil},
		"cut short":      {requests("a", "bc")[:10], []string{"A"}, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := Serve(strings.NewReader(test.in), &out, upper); !errors.Is(err, test.wantErr) {
				t.Errorf("got error %v, want %v", err, test.wantErr)
			}
			if err := ReadGreeting(&out); err != nil {
				t.Error(err)
			}
			var got []string
			for {
				answer, err := ReadAnswer(&out, 100)
				if err != nil {
					break
				}
				if answer.ExitCode != len(answer.Stdout) {
					t.Errorf("%q has exit code %d", answer.Stdout, answer.ExitCode)
				}
				got = append(got, string(answer.Stdout))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
	if err := Serve(strings.NewReader(""), brokenWriter{}, upper); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("to nobody: got error %v, want %v", err, io.ErrClosedPipe)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzReadAnswer reads what a worker may write, which is anything: what is taken is within the limit, and is what was written.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x06output"), int64(6))
	f.Add([]byte("\x00\x00\x00\x01\xff\xff\xff\xffoutput"), int64(1<<40))
	f.Add([]byte("apiVersion: v1"), int64(100))
	f.Fuzz(func(t *testing.T, stream []byte, limit int64) {
		answer, err := ReadAnswer(bytes.NewReader(stream), limit)
		if cap(answer.Stdout) > 2*trusted+2*len(stream) {
			t.Errorf("%d bytes take %d of memory", len(stream), cap(answer.Stdout))
		}
		if err != nil {
			return
		}
		if int64(len(answer.Stdout)) > limit {
			t.Errorf("an output of %d bytes is over the limit %d", len(answer.Stdout), limit)
		}
		var again bytes.Buffer
		if err := WriteAnswer(&again, answer); err != nil || !bytes.HasPrefix(stream, again.Bytes()) {
			t.Errorf("read %+v, which is written as %q, error %v", answer, again.Bytes(), err)
		}
	})
}

// FuzzServe serves anything as requests: each that is whole is answered.
func FuzzServe(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xffa"))
	f.Fuzz(func(t *testing.T, in []byte) {
		calls := 0
		var out bytes.Buffer
		err := Serve(bytes.NewReader(in), &out, func(list []byte) (Answer, bool) {
			calls++
			return Answer{Stdout: list}, false
		})
		if want := len(Greeting) + len(in) + 4*calls; err == nil && out.Len() != want {
			t.Errorf("%d calls of %d bytes in all are answered with %d bytes, want %d", calls, len(in), out.Len(), want)
		}
	})
}
