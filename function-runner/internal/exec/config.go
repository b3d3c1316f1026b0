// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/services/server/configfile"
)

// entry is one function of the config file.
type entry struct {
	Function string   `json:"function"`
	Images   []string `json:"images"`
	line     int
}

// parseConfig reads a config file: a mapping with the list functions, each with the name of an executable in function and
// a list of references in images. What has another shape is an error with its line; unknown fields are problems.
func parseConfig(text []byte) ([]entry, []configfile.Problem, error) {
	doc, err := configfile.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if doc.Empty() {
		return nil, nil, configfile.Problem{Line: 1, Text: "the file is empty, want a list of functions"}
	}
	var file struct {
		Functions []entry `json:"functions"`
	}
	problems, err := doc.Decode(&file)
	if err != nil {
		return nil, nil, err
	}
	for i, line := range lines(doc) {
		e := &file.Functions[i]
		e.line = line
		if e.Function == "" {
			problems = append(problems, problem(*e, "the entry has no function"))
		}
		if len(e.Images) == 0 {
			problems = append(problems, problem(*e, "function %q has no images", e.Function))
		}
	}
	return file.Functions, problems, nil
}

// lines returns in which lines the entries are.
func lines(doc configfile.Document) (lines []int) {
	fields, _ := doc.Fields()
	for name, value := range fields {
		items, _ := value.Items()
		for _, item := range items {
			if name == "functions" {
				lines = append(lines, item.Line())
			}
		}
	}
	return lines
}

// FindExecutable returns the absolute path of a function's program. A relative name is below dir. An absolute one is taken as
// it is, or else below dir, where earlier function runners looked for it. The error says why it cannot be executed.
func FindExecutable(dir, name string) (string, error) {
	if filepath.IsAbs(name) {
		if path := filepath.Clean(name); usable(path) == nil {
			return path, nil
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if !strings.HasPrefix(path, dir+string(filepath.Separator)) {
		return "", fmt.Errorf("%q leads out of %s", name, dir)
	}
	return path, usable(path)
}

// usable tells why a file cannot be executed, or nil.
func usable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("executable %s is missing", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("executable %s is not a file", path)
	case unix.Access(path, unix.X_OK) != nil:
		return fmt.Errorf("executable %s cannot be executed (mode %v)", path, info.Mode().Perm())
	}
	return nil
}
