// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bareInputs returns the list that each function gets, with the annotations by which a render knows resources again.
func bareInputs(resources int) [][]byte {
	var items bytes.Buffer
	for i := range resources {
		fmt.Fprintf(&items, bareItem, i, i%10, i/10)
	}
	var inputs [][]byte
	for _, f := range renderFunctions {
		inputs = append(inputs, fmt.Appendf(nil, bareList, items.Bytes(), f[1]))
	}
	return inputs
}

const bareList = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
%sfunctionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: function-input
  data:
    %s
`

const bareItem = `- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: cm-%[1]d
    annotations:
      config.kubernetes.io/index: '%[2]d'
      config.kubernetes.io/path: 'configs/file-%[3]d.yaml'
      internal.config.kubernetes.io/index: '%[2]d'
      internal.config.kubernetes.io/package-path: '/tmp/p'
      internal.config.kubernetes.io/path: 'configs/file-%[3]d.yaml'
      internal.config.kubernetes.io/seqindent: 'compact'
      internal.config.kubernetes.io/annotations-migration-resource-id: '%[1]d'
      internal.config.kubernetes.io/id: '%[1]d'
      config.k8s.io/id: '%[1]d'
  data:
    key: value # comment
    other: "1"
`

// writePackages writes packages beside each other, which have the pipeline and share the resources; a single one is the
// root.
func writePackages(root string, packages, resources int, function func(name string) string) error {
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
	var pipeline strings.Builder
	pipeline.WriteString("pipeline:\n  mutators:\n")
	for _, f := range renderFunctions {
		fmt.Fprintf(&pipeline, "  - %s\n    configMap: {%s}\n", function(f[0]), f[1])
	}
	err := write(filepath.Join(root, "Kptfile"), kptfile)
	for p := range packages {
		dir := root
		if packages > 1 {
			dir = filepath.Join(root, fmt.Sprintf("package-%d", p))
		}
		err = errors.Join(err, write(filepath.Join(dir, "Kptfile"), kptfile+pipeline.String()))
		for first := 0; first < resources/packages; first += 10 {
			var text strings.Builder
			for i := first; i < min(first+10, resources/packages); i++ {
				fmt.Fprintf(&text, configMap, i)
			}
			err = errors.Join(err, write(filepath.Join(dir, "configs", fmt.Sprintf("file-%d.yaml", first/10)), text.String()))
		}
	}
	return err
}

const configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: cm-%d
data:
  key: value # comment
  other: "1"
`

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
