// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package entrypoint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		out     process.Outcome
		err     error
		want    process.Outcome
		wantErr string
	}{
		"output": {
			out:  process.Outcome{Stdout: []byte("out"), Stderr: []byte("err"), StderrDropped: 3, ExitCode: 2, Start: time.Second, Execute: time.Minute},
			want: process.Outcome{Stdout: []byte("out"), Stderr: []byte("err"), StderrDropped: 3, ExitCode: 2, Start: time.Second, Execute: time.Minute},
		},
		"signal": {
			out:  process.Outcome{ExitCode: -1, Signal: syscall.SIGSEGV},
			want: process.Outcome{ExitCode: -1, Signal: syscall.SIGSEGV},
		},
		"not started": {
			out: process.Outcome{ExitCode: -1}, err: &process.StartError{Program: "/fn", Err: errors.New("no such file")},
			want: process.Outcome{ExitCode: -1}, wantErr: `start "/fn": no such file`,
		},
		"too large": {
			out: process.Outcome{Stderr: []byte("err")}, err: &process.OutputTooLargeError{Size: 200, Limit: 100},
			want: process.Outcome{Stderr: []byte("err")}, wantErr: "output of 200 bytes is larger than the limit of 100 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wire bytes.Buffer
			if err := writeAnswer(&wire, test.out, test.err); err != nil {
				t.Fatal(err)
			}
			got, ran, err := ReadAnswer(&wire, "/fn", 100)
			if err != nil {
				t.Fatal(err)
			}
			if ran == nil && test.wantErr != "" || ran != nil && ran.Error() != test.wantErr {
				t.Errorf("ran = %v, want %s", ran, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got, cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "image"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `ls ` + dir + `; touch ` + dir + `/left; cat; exit 4`
	var in, out bytes.Buffer
	for range 2 {
		if err := WriteRequest(&in, []byte("list\n"), 1000); err != nil {
			t.Fatal(err)
		}
	}
	read, write := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(t.Context(), []string{"sh", "-c", script}, Scratch{Dirs: []string{dir}, Root: dir}, read, &out)
	}()
	if _, err := in.WriteTo(write); err != nil {
		t.Fatal(err)
	}
	// The end of the input kills a running command. The first request has been answered by then, the second one perhaps.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if entries, _ := os.ReadDir(dir); len(entries) == 2 {
			break
		}
	}
	_ = write.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if err := ReadGreeting(&out); err != nil {
		t.Fatal(err)
	}
	got, ran, err := ReadAnswer(&out, "sh", 1000)
	if err != nil || ran != nil || got.ExitCode != 4 {
		t.Fatalf("ReadAnswer() = %+v, %v, %v; want exit code 4", got, ran, err)
	}
	if text := string(got.Stdout); !strings.HasSuffix(text, "list\n") || !strings.HasPrefix(text, "image\n") || strings.Contains(text, "left") {
		t.Errorf("output = %q, want the files of the image and the list", text)
	}
}

// Run does nothing unless the process has PID 1.
func TestRunRequiresPID1(t *testing.T) {
	t.Parallel()
	if code, ok := Run(t.Context(), []string{"krmfn", Name, "sh"}, nil, nil, nil); ok {
		t.Errorf("Run() = %d, true, want false", code)
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	if err := ReadGreeting(strings.NewReader("exec format error, and more\n")); !errors.Is(err, ErrMalformed) {
		t.Errorf("ReadGreeting() = %v, want ErrMalformed", err)
	}
	if err := ReadGreeting(strings.NewReader("krmfn")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadGreeting() = %v, want ErrUnexpectedEOF", err)
	}
}

func FuzzReadAnswer(f *testing.F) {
	var wire bytes.Buffer
	if err := writeAnswer(&wire, process.Outcome{Stdout: []byte("out"), Stderr: []byte("err")}, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 100
		got, ran, err := ReadAnswer(bytes.NewReader(data), "/fn", limit)
		if err != nil {
			return
		}
		if len(got.Stdout) > limit || got.ExitCode < -1 || got.ExitCode > 255 {
			t.Errorf("invalid outcome %+v", got)
		}
		var again bytes.Buffer
		if err := writeAnswer(&again, got, ran); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadAnswer(&again, "/fn", limit); err != nil {
			t.Error(err)
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	var wire bytes.Buffer
	if err := WriteRequest(&wire, []byte("list"), 7); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readRequest(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteRequest(&again, r.stdin, r.maxStdout); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Errorf("readRequest(%q) is written as %q", data, again.Bytes())
		}
	})
}
