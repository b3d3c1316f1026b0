// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package function has the function that is measured, and runs it as a bare process: the limit that everything is measured by.
package function

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/krmfn/krmfn/e2e/load"
)

// Name is the function that is measured: short, so that what is around it shows.
const Name = "set-labels"

// Sizes are how many resources the lists have that are measured.
var Sizes = []int{10, 100, 1000, 5000}

// label is what the function adds to each resource.
const label = "team: platform"

// List returns a ResourceList of so many ConfigMaps.
func List(resources int) []byte {
	var list strings.Builder
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range resources {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%d\n    labels:\n      tier: backend\n  data:\n    key: value\n", i)
	}
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    " + label + "\n")
	return []byte(list.String())
}

// Check makes sure that an output is one: an error must not pass as a fast call.
func Check(out []byte) error {
	if !bytes.Contains(out, []byte(label)) {
		return errors.New("the output lacks the label")
	}
	return nil
}

// Bare returns what runs the function as a process of the executable, which has the curated functions, on a list.
func Bare(executable string, list []byte) load.Call {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, executable, Name)
		cmd.Stdin = bytes.NewReader(list)
		out, err := cmd.Output()
		if err != nil {
			return err
		}
		return Check(out)
	}
}
