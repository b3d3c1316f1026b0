// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs builds krmfn's commands for a release. Each program contains the version of its image.
package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// functionsDir is the directory of the command with the curated functions. A second program is built from it, with fewer libraries.
const functionsDir = "functions/cmd/functions"

// Program is a command to build.
type Program struct {
	Name    string // file name
	Dir     string // directory of the main package, relative to the root of the repository
	Version string
	Tag     string // additional build tag; may be empty
}

// All returns the programs in directories. The last element of a directory is the name of the program and of its image.
func All(dirs []string, v versions.Versions) ([]Program, error) {
	all := make([]Program, 0, len(dirs)+1)
	for _, dir := range dirs {
		name := path.Base(dir)
		version, found := v.Images[name]
		if !found {
			return nil, fmt.Errorf("command %s: %s has no image %s: add it", dir, versions.File, name)
		}
		all = append(all, Program{Name: name, Dir: dir, Version: version})
		if dir == functionsDir {
			all = append(all, Program{Name: name + "-light", Dir: dir, Version: version, Tag: "light"})
		}
	}
	return all, nil
}

// releaseVariable is the assignment in the linker flags that sets the version.
const releaseVariable = "github.com/krmfn/krmfn/internal/server/version.release="

// command splits a command line of the form [NAME=VALUE...] go build FLAG... into environment and arguments, with the program's version and
// tag. The flags must contain -ldflags and -tags. The version replaces the one in the flags, because the flags are part of the build ID,
// and the build ID is part of the program.
func (p Program) command(line []string) (environ, args []string, err error) {
	first := slices.IndexFunc(line, func(word string) bool { return !strings.Contains(word, "=") })
	if first < 0 {
		return nil, nil, fmt.Errorf("%q has no command", line)
	}
	environ, args = line[:first], slices.Clone(line[first:])
	ldflags, tags := slices.Index(args, "-ldflags")+1, slices.Index(args, "-tags")+1
	if ldflags == 0 || tags == 0 || max(ldflags, tags) == len(args) {
		return nil, nil, fmt.Errorf("%q lacks the flags -ldflags and -tags with values", line)
	}
	words := strings.Fields(args[ldflags])
	release := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, releaseVariable) })
	if release < 0 {
		return nil, nil, fmt.Errorf("the -ldflags %q do not set %s", args[ldflags], releaseVariable)
	}
	words[release] = releaseVariable + p.Version
	args[ldflags] = strings.Join(words, " ")
	if p.Tag != "" {
		args[tags] += "," + p.Tag
	}
	return environ, args, nil
}

// Builder builds programs with the go command.
type Builder struct {
	// Root is the root of the repository.
	Root string
	// Line is the command line: [NAME=VALUE...] go build FLAG... The flags must contain -ldflags and -tags.
	Line []string
}

// Platform is an operating system and an architecture.
type Platform struct{ OS, Arch string }

// ParsePlatforms parses platforms such as "linux/amd64", separated by spaces.
func ParsePlatforms(text string) ([]Platform, error) {
	words := strings.Fields(text)
	platforms := make([]Platform, len(words))
	for i, word := range words {
		system, arch, found := strings.Cut(word, "/")
		if !found || system == "" || arch == "" {
			return nil, fmt.Errorf("invalid platform %q: write it like linux/amd64", word)
		}
		platforms[i] = Platform{OS: system, Arch: arch}
	}
	return platforms, nil
}

func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Build builds a program into a directory and returns the path of the file.
func (b Builder) Build(ctx context.Context, p Program, platform Platform, dir string) (string, error) {
	environ, args, err := p.command(b.Line)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", p.Name, err)
	}
	file := filepath.Join(dir, p.Name)
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], "-o", file, ".")...)
	cmd.Dir = filepath.Join(b.Root, filepath.FromSlash(p.Dir))
	// The defaults of a machine could change the program.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+platform.OS, "GOARCH="+platform.Arch)
	cmd.Env = append(cmd.Env, environ...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w: %s", p.Name, platform, err, strings.TrimSpace(string(output)))
	}
	return file, nil
}

// Sum returns the SHA-256 of a file in hexadecimal.
func Sum(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
