// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// authorityFiles contains PEM certificates by directory. The key "" is for all registries.
type authorityFiles map[string]string

// authorityNames are the names of files with certificate authorities. The first one that exists is used.
var authorityNames = []string{"ca.crt", "ca.pem"}

// maxAuthorities is the maximum number of directories for single registries.
const maxAuthorities = 1000

// readAuthorities reads the files in a directory. For a file that is invalid, it returns the previous content and a problem.
func readAuthorities(dir string, before authorityFiles) (files authorityFiles, problems map[string]bool) {
	problems = map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		problems[fmt.Sprintf("%v: give the directory of ca.crt or ca.pem with --tls-secret-path", err)] = true
		return before, problems
	}
	names := []string{""}
	for _, e := range entries {
		// The kubelet uses names with two dots to update volumes atomically.
		if !e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "..") {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxAuthorities {
		problems[fmt.Sprintf("%s has more than %d directories of registries", dir, maxAuthorities)] = true
		names = names[:maxAuthorities]
	}
	files = authorityFiles{}
	for _, name := range names {
		content, err := readAuthority(filepath.Join(dir, name))
		switch {
		case err == nil:
			files[name] = content
		case !errors.Is(err, fs.ErrNotExist):
			problems[err.Error()] = true
			if kept, ok := before[name]; ok {
				files[name] = kept
			}
		}
	}
	if len(files) == 0 {
		problems[dir+" has neither ca.crt nor ca.pem"] = true
	}
	return files, problems
}

// readAuthority returns the certificates in a directory, or fs.ErrNotExist.
func readAuthority(dir string) (string, error) {
	for _, name := range authorityNames {
		file := filepath.Join(dir, name)
		content, err := readFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, syscall.ENOTDIR):
			// The name is a link to a file, so it is another key of the Secret.
			return "", fs.ErrNotExist
		case err != nil:
			return "", err
		case !x509.NewCertPool().AppendCertsFromPEM(content):
			return "", fmt.Errorf("%s has no valid certificate in PEM, the previous ones remain trusted", file)
		}
		return string(content), nil
	}
	return "", fs.ErrNotExist
}

// changed returns the directories whose certificates differ from before.
func (f authorityFiles) changed(before authorityFiles) []string {
	all := slices.Concat(slices.Collect(maps.Keys(f)), slices.Collect(maps.Keys(before)))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool {
		one, ok := f[name]
		other, was := before[name]
		return ok == was && one == other
	})
}
