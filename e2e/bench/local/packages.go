// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pipeline lists the functions of the rendered packages, each with its configMap.
var pipeline = [][2]string{{"set-namespace", "namespace: shop"}, {"set-labels", "team: shop"}, {"set-annotations", "owner: shop"}}

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"

const configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cm-%d
data:
  key: value # comment
  other: "1"
`

// perFile is the number of ConfigMaps in a file.
const perFile = 10

// byImage and byExecutable return the field of a Kptfile that selects a function.
func byImage(name string) string { return "image: " + name + ":v1" }

func byExecutable(dir string) func(name string) string {
	return func(name string) string { return "exec: " + filepath.Join(dir, name) }
}

// writePackages writes packages of ConfigMaps into a new directory. A single package is written to the root. Several packages are written
// below a root package without a pipeline, which makes packages+1 in total.
func writePackages(root string, packages, resources int, named func(name string) string) error {
	var mutators strings.Builder
	mutators.WriteString("pipeline:\n  mutators:\n")
	for _, f := range pipeline {
		fmt.Fprintf(&mutators, "  - %s\n    configMap: {%s}\n", named(f[0]), f[1])
	}
	err := write(filepath.Join(root, "Kptfile"), kptfile)
	for p := range packages {
		dir := packageDir(root, packages, p)
		err = errors.Join(err, write(filepath.Join(dir, "Kptfile"), kptfile+mutators.String()))
		for first := 0; first < resources/packages; first += perFile {
			var text strings.Builder
			for i := first; i < min(first+perFile, resources/packages); i++ {
				fmt.Fprintf(&text, configMap, i)
			}
			err = errors.Join(err, write(filepath.Join(dir, "configs", fmt.Sprintf("file-%d.yaml", first/perFile)), text.String()))
		}
	}
	return err
}

// packageDir returns the directory of a package.
func packageDir(root string, packages, number int) string {
	if packages == 1 {
		return root
	}
	return filepath.Join(root, fmt.Sprintf("package-%d", number))
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
