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

// Workers in other languages depend on these bytes.
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

func TestRoundTrip(t *testing.T) {
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
			t.Errorf("ReadRequest() of %d bytes = %d bytes, error %v", size, len(list), err)
		}
		answer, err := ReadAnswer(in, int64(size))
		if err != nil || answer.ExitCode != 255 || !bytes.Equal(answer.Stdout, body) {
			t.Errorf("ReadAnswer() of %d bytes = %d bytes, exit code %d, error %v", size, len(answer.Stdout), answer.ExitCode, err)
		}
		if _, err := ReadRequest(in); !errors.Is(err, io.EOF) {
			t.Errorf("ReadRequest() after the last message = %v, want io.EOF", err)
		}
	}
}

func TestReadAnswerErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stream string
		want   error
	}{
		"empty":              {"", io.EOF},
		"ends in the header": {"\x00\x00", io.ErrUnexpectedEOF},
		"ends in the body":   {"\x00\x00\x00\x00\x00\x00\x00\x05four", io.ErrUnexpectedEOF},
		"a ResourceList":     {"apiVersion: config.kubernetes.io/v1\n", ErrMalformed},
		"invalid exit code":  {"\x00\x00\x01\x00\x00\x00\x00\x00", ErrMalformed},
		"output too large":   {"\x00\x00\x00\x00\x00\x00\x00\x0btoo large..", &TooLargeError{Size: 11, Limit: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadAnswer(strings.NewReader(test.stream), 10)
			if tooLarge := new(TooLargeError); errors.As(test.want, &tooLarge) {
				if diff := cmp.Diff(test.want, err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			} else if !errors.Is(err, test.want) {
				t.Errorf("ReadAnswer() = %v, want %v", err, test.want)
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
			t.Errorf("ReadGreeting(%q) = %v, want %v", said, err, want)
		}
	}
}

func TestWriteAnswerRejectsInvalidExitCodes(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-1, 256} {
		if err := WriteAnswer(io.Discard, Answer{ExitCode: code}); !errors.Is(err, ErrMalformed) {
			t.Errorf("WriteAnswer() with exit code %d = %v, want %v", code, err, ErrMalformed)
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
		"no request":                {"", nil, nil},
		"requests":                  {requests("a", "", "bc"), []string{"A", "", "BC"}, nil},
		"ends with the last answer": {requests("a", "last", "b"), []string{"A", "LAST"}, nil},
		"incomplete request":        {requests("a", "bc")[:10], []string{"A"}, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := Serve(strings.NewReader(test.in), &out, upper); !errors.Is(err, test.wantErr) {
				t.Errorf("Serve() = %v, want %v", err, test.wantErr)
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
					t.Errorf("exit code of answer %q = %d, want %d", answer.Stdout, answer.ExitCode, len(answer.Stdout))
				}
				got = append(got, string(answer.Stdout))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
	if err := Serve(strings.NewReader(""), brokenWriter{}, upper); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Serve() to a closed pipe = %v, want %v", err, io.ErrClosedPipe)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzReadAnswer reads arbitrary bytes as an answer. The output must not exceed the limit, and memory must be proportional to the
// input.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x06output"), int64(6))
	f.Add([]byte("\x00\x00\x00\x01\xff\xff\xff\xffoutput"), int64(1<<40))
	f.Add([]byte("apiVersion: v1"), int64(100))
	f.Fuzz(func(t *testing.T, stream []byte, limit int64) {
		answer, err := ReadAnswer(bytes.NewReader(stream), limit)
		if cap(answer.Stdout) > 2*trusted+2*len(stream) {
			t.Errorf("%d bytes of input use %d bytes of memory", len(stream), cap(answer.Stdout))
		}
		if err != nil {
			return
		}
		if int64(len(answer.Stdout)) > limit {
			t.Errorf("output of %d bytes exceeds the limit of %d bytes", len(answer.Stdout), limit)
		}
		var again bytes.Buffer
		if err := WriteAnswer(&again, answer); err != nil || !bytes.HasPrefix(stream, again.Bytes()) {
			t.Errorf("ReadAnswer() = %+v, which WriteAnswer writes as %q, error %v", answer, again.Bytes(), err)
		}
	})
}

// FuzzServe serves arbitrary bytes as requests. Each complete request must be answered.
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
			t.Errorf("%d calls with %d bytes of input are answered with %d bytes, want %d", calls, len(in), out.Len(), want)
		}
	})
}
