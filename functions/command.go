// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

const usage = `Runs the curated KRM functions.

Usage: functions COMMAND

Commands:
  NAME       run the function NAME: read a ResourceList from standard input, and write the result to standard output;
             with --worker, answer many requests in one process
  list       list the functions and their versions
  describe   print the functions as JSON, for a task handler
  link DIR   create a symbolic link to this program in DIR for each function, for a function runner's flag --functions
  config     print the config file of these links, for a function runner's flag --config

If the program is started through such a link, it runs the function that the link is named after.
`

// Command runs the multi-call executable. args are the process's arguments, including its name. If the base name of args[0] is
// a function's name, Command runs that function. Otherwise args[1] is a function's name or a command; see usage. Command
// returns the exit code of [Main], or prints the usage to stderr and returns 1 if the arguments are invalid.
func Command(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		args = []string{"functions"}
	}
	if f, ok := Lookup(programName(args[0])); ok {
		return serveProcess(f, args[1:], stdin, stdout, stderr)
	}
	switch rest := args[1:]; {
	case len(rest) == 1 && rest[0] == "list":
		for _, f := range All() {
			fmt.Fprintf(stdout, "%s %s\n", f.Name, f.Version)
		}
		return 0
	case len(rest) == 1 && rest[0] == "describe":
		if err := json.NewEncoder(stdout).Encode(All()); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	case len(rest) == 2 && rest[0] == "link":
		if err := link(rest[1]); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	case len(rest) == 1 && rest[0] == "config":
		text, err := ExecConfig(All())
		if err == nil {
			_, err = stdout.Write(text)
		}
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		return 0
	case len(rest) == 1 && (rest[0] == "--help" || rest[0] == "-h"):
		fmt.Fprint(stdout, usage)
		return 0
	case len(rest) > 0:
		if f, ok := Lookup(rest[0]); ok {
			return serveProcess(f, rest[1:], stdin, stdout, stderr)
		}
		fmt.Fprintf(stderr, "invalid command %q\n", strings.Join(rest, " "))
	}
	fmt.Fprint(stderr, usage)
	return 1
}

// serveProcess is Main with a memory limit for this process.
func serveProcess(f function.Function, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if f.ProcessMemory != 0 {
		limitMemory(f.ProcessMemory)
	}
	return function.Main(f, args, stdin, stdout, stderr)
}

// programName returns the base name of a program without the suffix .exe.
func programName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".exe")
}

// link creates a link to the running program in dir for each function. It replaces existing links. If a function's name is
// taken by another kind of file, it fails.
func link(dir string) error {
	target, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program to link to: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range All() {
		path := filepath.Join(dir, f.Name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
		if err := os.Symlink(target, path); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("link %s: %s exists and is not a symbolic link: remove it or choose another directory", f.Name, path)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// ExecConfig returns the config file that makes a function runner evaluate functions as executables of the same names. Each
// function has its own tags with both prefixes of the catalog, and declares its version and traits.
func ExecConfig(functions []function.Function) ([]byte, error) {
	type entry struct {
		Function      string   `json:"function"`
		Version       string   `json:"version"`
		Images        []string `json:"images"`
		Worker        bool     `json:"worker,omitempty"`
		Deterministic bool     `json:"deterministic,omitempty"`
	}
	entries := make([]entry, 0, len(functions))
	for _, f := range functions {
		entries = append(entries, entry{
			f.Name, f.Version, f.Images(true, reference.CatalogPrefix, reference.FormerCatalogPrefix), f.Traits.Worker, f.Traits.Deterministic,
		})
	}
	text, err := yaml.Marshal(map[string][]entry{"functions": entries})
	if err != nil {
		return nil, fmt.Errorf("write the config file of functions: %w", err)
	}
	return text, nil
}
