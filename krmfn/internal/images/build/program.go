// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/process"
)

// Program is the executable of a function.
type Program struct {
	// Name is the program's file name in the image.
	Name string
	// File is the file it was read from, for messages.
	File string
	// Content is the content of the executable.
	Content []byte
	// Platform is the platform it was built for.
	Platform v1.Platform
	// Interpreter is the path of the dynamic linker it needs. It is empty for a static program.
	Interpreter string
}

// architectures maps ELF machines to the architectures for which Go builds little-endian Linux programs.
var architectures = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
	elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// names returns a regular expression for valid file names in an image.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`) })

// ReadProgram reads a Linux executable.
func ReadProgram(file string) (Program, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return Program{}, err
	}
	p, err := parseProgram(content)
	if err != nil {
		return Program{}, fmt.Errorf("%s is not a Linux program: %w: build it with GOOS=linux", file, err)
	}
	p.Name, p.File = filepath.Base(file), file
	if !names().MatchString(p.Name) || p.Name == "tmp" {
		return Program{}, fmt.Errorf("program name %q must have only letters, digits, dots, dashes and underscores, and must not be tmp: rename the file", p.Name)
	}
	return p, nil
}

// parseProgram reads the platform and the interpreter of an executable.
func parseProgram(content []byte) (Program, error) {
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return Program{}, err
	}
	defer file.Close()
	architecture, ok := architectures[file.Machine]
	if !ok {
		return Program{}, fmt.Errorf("its machine %s is unknown", file.Machine)
	}
	p := Program{Content: content, Platform: v1.Platform{OS: "linux", Architecture: architecture}}
	for _, section := range file.Progs {
		if section.Type != elf.PT_INTERP {
			continue
		}
		if section.Filesz > 4096 {
			return Program{}, errors.New("the name of its dynamic linker is too long")
		}
		name := make([]byte, section.Filesz)
		if _, err := section.ReadAt(name, 0); err != nil {
			return Program{}, err
		}
		p.Interpreter = strings.TrimRight(string(name), "\x00")
	}
	return p, nil
}

// Compile builds the Go program in a directory for a platform, as a static and reproducible executable. It runs the go command in PATH,
// whose output is part of the error.
func Compile(ctx context.Context, dir string, platform v1.Platform) (Program, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Program{}, err
	}
	work, err := os.MkdirTemp("", "krmfn-image-")
	if err != nil {
		return Program{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	file := filepath.Join(work, filepath.Base(dir))
	runner := process.NewRunner(process.Options{})
	defer runner.Close()
	outcome, err := runner.Run(ctx, process.Command{
		Argv: []string{"go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", file, "."},
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture),
		Dir:  dir,
	}, nil)
	switch {
	case ctx.Err() != nil:
		return Program{}, context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return Program{}, fmt.Errorf("build %s: there is no go command in PATH: install Go, or use a compiled program", dir)
	case err != nil:
		return Program{}, fmt.Errorf("build %s: %w", dir, err)
	case outcome.ExitCode != 0:
		return Program{}, fmt.Errorf("build %s for %s: %s", dir, platform, bytes.TrimSpace(outcome.Stderr))
	}
	program, err := ReadProgram(file)
	program.File = dir
	return program, err
}
