// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// tables holds the mutations of all packages.
var tables = []table{processMutations, childMutations, workerMutations, memoMutations, endpointMutations, poolMutations}

// table holds the mutations of one package.
type table struct {
	// dir is the directory of the package relative to the root, with slashes.
	dir string
	// tests are package patterns relative to dir. A failed test in one of the packages detects a mutation.
	tests     []string
	mutations []mutation
}

// mutation is a change that breaks code.
type mutation struct {
	// file is a file of the package. It must contain find exactly once. The mutation replaces find with replace.
	file, find, replace string
	// effect describes the behaviour after the mutation.
	effect string
}

func (m mutation) name(dir string) string { return path.Join(dir, m.file) + ": " + m.effect }

// apply returns the code of the mutated file.
func (m mutation) apply(root, dir string) ([]byte, error) {
	code, err := os.ReadFile(m.path(root, dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name(dir), err)
	}
	if n := strings.Count(string(code), m.find); n != 1 || m.find == m.replace {
		return nil, fmt.Errorf("%s: the file contains %q %d times, want once, and a different replacement", m.name(dir), m.find, n)
	}
	return []byte(strings.Replace(string(code), m.find, m.replace, 1)), nil
}

func (m mutation) path(root, dir string) string {
	return filepath.Join(root, filepath.FromSlash(dir), m.file)
}

// check returns an error for each mutation that does not apply.
func check(root string, tables []table) error {
	var failed []error
	for _, t := range tables {
		for _, m := range t.mutations {
			if _, err := m.apply(root, t.dir); err != nil {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

// selected returns the mutations whose names match, without empty tables.
func selected(tables []table, matching *regexp.Regexp) (found []table) {
	for _, t := range tables {
		s := table{dir: t.dir, tests: t.tests}
		for _, m := range t.mutations {
			if matching.MatchString(m.name(t.dir)) {
				s.mutations = append(s.mutations, m)
			}
		}
		if len(s.mutations) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// try runs the tests with a mutation. The mutated file is in the directory scratch.
func (t table) try(ctx context.Context, root, scratch string, m mutation) (result, error) {
	code, err := m.apply(root, t.dir)
	if err != nil {
		return result{}, err
	}
	mutated, overlay := filepath.Join(scratch, m.file), filepath.Join(scratch, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {m.path(root, t.dir): mutated}})
	if err == nil {
		err = errors.Join(os.WriteFile(mutated, code, 0o600), os.WriteFile(overlay, replaced, 0o600))
	}
	if err != nil {
		return result{}, err
	}
	return t.test(ctx, root, "-overlay="+overlay)
}

type outcome string

const (
	killed   outcome = "killed"
	survived outcome = "SURVIVED"
	// broken means that the mutated code does not compile.
	broken outcome = "BROKEN"
)

type result struct {
	outcome outcome
	output  []byte
}

var (
	buildFailed = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]$`)
	failedTest  = regexp.MustCompile(`(?m)^\s*--- FAIL: \S+|^(panic|fatal error): .*`)
)

// by returns the first test that failed, or the panic, in parentheses.
func (r result) by() string {
	if r.outcome != killed {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.TrimPrefix(strings.TrimSpace(string(failedTest.Find(r.output))), "--- FAIL: "))
}

// test runs the tests with additional flags of the go command. It kills processes that failed tests leave behind.
func (t table) test(ctx context.Context, root string, flags ...string) (result, error) {
	args := slices.Concat([]string{"test", "-vet=off", "-failfast", "-timeout=120s"}, flags, t.tests)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(t.dir))
	// With a fixed seed, property-based tests detect a mutation either always or never.
	cmd.Env = append(os.Environ(), "RAPID_SEED=1", "RAPID_NOFAILFILE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	output, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = cmd.Cancel()
	}
	switch {
	case ctx.Err() != nil:
		return result{}, context.Cause(ctx)
	case err == nil:
		return result{survived, output}, nil
	case !errors.As(err, new(*exec.ExitError)):
		return result{}, fmt.Errorf("test %s: %w", t.dir, err)
	case buildFailed.Match(output):
		return result{broken, output}, nil
	}
	return result{killed, output}, nil
}
