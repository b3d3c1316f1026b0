// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inherited are the variables that a function gets from a process that holds secrets. All others are withheld: an
// environment is where credentials, tokens and addresses of a deployment are kept.
var inherited = []string{"PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// RunnerEnvironment returns the part of a function runner's environment that its functions may see: PATH, locale, time
// zone and where the CA certificates are.
func RunnerEnvironment(environ []string) []string {
	return filter(environ, func(key string) bool {
		return strings.HasPrefix(key, "LC_") || slices.Contains(inherited, key)
	})
}

// ImageEnvironment returns the environment of a function's own image: all of a container's environment but what was put
// there for the wrapper server.
func ImageEnvironment(environ []string) []string {
	return filter(environ, func(key string) bool {
		return !strings.HasPrefix(key, "OTEL_") && !strings.HasPrefix(key, "KRMFN_") && !strings.HasPrefix(key, "GRPC_")
	})
}

// environment returns the environment of a run: TMPDIR, and what its command's has no value for.
func (c *Command) environment(scratch string) []string {
	full := append(make([]string, 0, len(c.Env)+3), c.Env...)
	has := func(key string) bool {
		return slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	}
	if !has("HOME") {
		full = append(full, "HOME="+scratch)
	}
	if c.MemoryLimit > 0 && !has("GOMEMLIMIT") {
		full = append(full, "GOMEMLIMIT="+strconv.FormatInt(c.MemoryLimit, 10))
	}
	return append(full, "TMPDIR="+scratch)
}

func filter(environ []string, keep func(key string) bool) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == "TMPDIR" || !keep(key)
	})
}

// lookPath finds a program in the PATH of an environment, which need not be our own.
func lookPath(program string, environ []string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, kv := range environ {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			file := filepath.Join(dir, program)
			if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}
