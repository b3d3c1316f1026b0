// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command function is an entrypoint and, started otherwise, a function that changes nothing and says what it finds.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/engine/entrypoint"
)

func main() {
	if code, ok := entrypoint.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	_, left := os.Stat("/tmp/left")
	_, streams := os.OpenFile("/proc/1/fd/1", os.O_WRONLY, 0)
	host, _ := os.Hostname()
	fmt.Fprintf(os.Stderr, "user=%d foo=%s arg=%s clean=%v apart=%v host=%s\n",
		os.Getuid(), os.Getenv("FOO"), strings.Join(os.Args[1:], ","), left != nil, streams != nil, host)
	_ = os.WriteFile("/tmp/left", nil, 0o600)
	if strings.Contains(string(input), "hang") {
		time.Sleep(time.Minute)
	}
	_, _ = os.Stdout.Write(input)
}
