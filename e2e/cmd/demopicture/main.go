// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command demopicture draws the terminal output of `make demo` as an SVG. It runs the demo with the binaries in --bin and writes the
// picture to --out. It replaces values that differ between runs, so that the output is reproducible.
//
// Two libraries emulate the terminal: creack/pty runs the demo, and terminal-to-html interprets its output. The command writes the SVG
// itself, because existing tools support one set of colours, and this picture follows the reader's light or dark theme.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	terminal "github.com/buildkite/terminal-to-html/v3"
	"github.com/creack/pty"
	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

const (
	// picture is the path of the picture in the checkout.
	picture = "docs/demo.svg"
	// columns and rows are the size of the terminal.
	columns, rows = 92, 60
	// maxOutput is the maximum output of the demo in bytes.
	maxOutput = 1 << 20
)

func main() {
	bin := pflag.String("bin", "bin", "directory of the binaries")
	out := pflag.String("out", "", "file to write the picture to (default "+picture+" in the checkout)")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, *bin, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demopicture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, out string) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, picture)
	}
	drawn, err := draw(ctx, root, bin)
	if err != nil {
		return err
	}
	return os.WriteFile(out, drawn, 0o644)
}

// draw builds and runs the demo, and returns the picture. root is the directory of the checkout, and bin is the directory of the binaries.
func draw(ctx context.Context, root, bin string) ([]byte, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	output, err := onTerminal(ctx, filepath.Join(root, "e2e"), "go", "run", "./cmd/demo", "--bin", bin)
	if err != nil {
		return nil, err
	}
	lines, err := scene(parse(output))
	if err != nil {
		return nil, err
	}
	return svg(lines), nil
}

// onTerminal runs a program in dir on a new terminal and returns its output. If the program fails, the error contains the end of the
// output.
func onTerminal(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "KPT_IMAGE_PREFIX=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return nil, fmt.Errorf("start %s on a terminal: %w", argv[0], err)
	}
	// Closing the terminal sends SIGHUP to the processes that still use it.
	defer tty.Close()
	defer context.AfterFunc(ctx, func() { _ = tty.Close() })()
	output, err := io.ReadAll(io.LimitReader(tty, maxOutput))
	// On Linux, reading returns EIO after the last process has closed the terminal.
	if errors.Is(err, syscall.EIO) {
		err = nil
	}
	if len(output) == maxOutput {
		err = errors.Join(fmt.Errorf("more than %d bytes of output", maxOutput), cmd.Process.Kill())
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("%w: …%s", ended, output[max(0, len(output)-2000):])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return output, nil
}

// parse returns the lines that a terminal finally shows for an output, as HTML with a class for each style.
func parse(output []byte) []line {
	return split(strings.NewReplacer("&nbsp;", "", "&#47;", "/").Replace(terminal.Render(output)))
}
