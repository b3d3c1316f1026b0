// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/workerprotocol"
)

// With the environment variable FUNCTION, the test binary is a function: a worker if it has workerprotocol.Argument, otherwise a
// process for one call.
func TestMain(m *testing.M) {
	if kind := os.Getenv("FUNCTION"); kind != "" {
		syscall.Exit(function(kind, slices.Contains(os.Args[1:], workerprotocol.Argument))) // os.Exit would run the exit code of the race detector
	}
	goleak.VerifyTestMain(m)
}

// function runs a function of the given kind. Its answer contains the number of its calls, and the list.
func function(kind string, isWorker bool) int {
	if !isWorker {
		list, _ := io.ReadAll(os.Stdin)
		fmt.Printf("process %s", list)
		return 0
	}
	switch kind {
	case "ignores arguments":
		_, _ = io.ReadAll(os.Stdin)
		return 0
	case "refuses arguments":
		fmt.Fprintln(os.Stderr, "unexpected argument")
		return 1
	case "talks":
		fmt.Println("usage: function < list")
		_, _ = io.ReadAll(os.Stdin)
		return 0
	case "leaves":
		fmt.Print(workerprotocol.Greeting)
		return 0
	}
	calls := 0
	err := workerprotocol.Serve(os.Stdin, os.Stdout, func(list []byte) (a workerprotocol.Answer, last bool) {
		calls++
		command, argument, _ := strings.Cut(string(list), " ")
		switch command {
		case "code":
			a.ExitCode, _ = strconv.Atoi(argument)
		case "exit":
			fmt.Fprint(os.Stderr, "last words")
			code, _ := strconv.Atoi(argument)
			syscall.Exit(code)
		case "signal":
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			time.Sleep(time.Hour)
		case "hang":
			fmt.Fprint(os.Stderr, "hanging")
			if argument != "" {
				_ = os.WriteFile(argument, nil, 0o600)
			}
			time.Sleep(time.Hour)
		case "print":
			fmt.Fprint(os.Stderr, argument)
		case "garbage":
			fmt.Print("apiVersion: config.kubernetes.io/v1\n")
		case "ahead":
			defer fmt.Print("more than was asked for")
		case "twice":
			var answers bytes.Buffer
			_ = workerprotocol.WriteAnswer(&answers, workerprotocol.Answer{Stdout: []byte("the answer")})
			_ = workerprotocol.WriteAnswer(&answers, workerprotocol.Answer{Stdout: []byte("one more answer")})
			_, _ = os.Stdout.Write(answers.Bytes())
			time.Sleep(time.Hour)
		case "late-answer":
			go whenTold(argument, func() {
				_ = workerprotocol.WriteAnswer(os.Stdout, workerprotocol.Answer{Stdout: []byte("a late answer")})
			})
		case "late-words":
			go whenTold(argument, func() { fmt.Fprint(os.Stderr, "late words") })
		case "close":
			_ = os.Stdout.Close()
			time.Sleep(time.Hour)
		case "large":
			size, _ := strconv.Atoi(argument)
			a.Stdout = bytes.Repeat([]byte("x"), size)
			return a, false
		case "leak":
			leaked = bytes.Repeat([]byte("x"), 2*maxIdleMemory)
		case "file":
			_ = os.WriteFile(filepath.Join(os.TempDir(), "left"), nil, 0o600)
		case "fork":
			cmd := exec.Command("sleep", "1000") //nolint:noctx // the process outlives the call
			_ = cmd.Start()
			_ = os.WriteFile(argument, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
		case "last":
			last = true
		case "deaf":
			_ = os.Stdin.Close()
		}
		if _, err := os.Stat(filepath.Join(os.TempDir(), "left")); err == nil && command != "file" {
			list = []byte("a file of another call")
		}
		a.Stdout = fmt.Appendf(nil, "call %d: %s", calls, list)
		return a, last
	})
	if err != nil {
		return 1
	}
	return 0
}

var leaked []byte

// whenTold waits until a file exists, calls do, and removes the file.
func whenTold(file string, do func()) {
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	do()
	_ = os.Remove(file)
}
