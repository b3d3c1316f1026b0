// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Builder builds programs with the go command.
type Builder struct {
	// Root is the root of the repository.
	Root string
	// Line is how programs are built: [NAME=VALUE...] go build FLAG..., with -ldflags and -tags among the flags.
	Line []string
}

// Platform is what a program is built for.
type Platform struct{ OS, Arch string }

// ParsePlatforms reads platforms as "linux/amd64", separated by spaces.
func ParsePlatforms(text string) ([]Platform, error) {
	words := strings.Fields(text)
	platforms := make([]Platform, len(words))
	for i, word := range words {
		system, arch, found := strings.Cut(word, "/")
		if !found || system == "" || arch == "" {
			return nil, fmt.Errorf("%q is no platform: write it as linux/amd64", word)
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
	// What a machine has as its own defaults would give other bytes.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+platform.OS, "GOARCH="+platform.Arch)
	cmd.Env = append(cmd.Env, environ...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w: %s", p.Name, platform, err, strings.TrimSpace(string(output)))
	}
	return file, nil
}

// Sum is the SHA-256 of a file, in hexadecimal.
func Sum(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
