// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command demopicture draws what a terminal shows of `make demo`, as an SVG: it runs the demo with the binaries from --bin and
// writes the picture to --out. What differs from run to run is replaced, so that the same commands make the same picture.
//
// Two libraries are the terminal: creack/pty runs the demo on one, and terminal-to-html interprets what the demo writes there.
// The SVG is written here, because tools that draw terminals have one set of colours, and this picture follows the reader's
// light or dark theme.
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
	// picture is where the picture is, in the checkout.
	picture = "docs/demo.svg"
	// columns and rows are the size of the terminal.
	columns, rows = 124, 60
	// maxOutput is the most bytes that the demo may write.
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

// draw builds and runs the demo, and returns the picture of it. root is the checkout, bin the directory of the binaries.
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

// onTerminal runs a program in dir on a terminal of its own, and returns all that it writes there. The error has the end of
// that where the program fails.
func onTerminal(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "KPT_IMAGE_PREFIX=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return nil, fmt.Errorf("start %s on a terminal: %w", argv[0], err)
	}
	// Whoever is still on the terminal when it is closed is told to end.
	defer tty.Close()
	defer context.AfterFunc(ctx, func() { _ = tty.Close() })()
	output, err := io.ReadAll(io.LimitReader(tty, maxOutput))
	// Linux says EIO when nobody is on the terminal any more.
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

// parse returns the lines that a terminal shows of an output in the end, in HTML with a class for each style.
func parse(output []byte) []line {
	return split(strings.NewReplacer("&nbsp;", "", "&#47;", "/").Replace(terminal.Render(output)))
}
