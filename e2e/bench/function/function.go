// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package function provides the measured function and runs it as a bare process, the baseline of all measurements.
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

// Name is the measured function. It runs for a short time, so that the overhead of a call is visible.
const Name = "set-labels"

// Small is the number of resources in the list that most measurements use.
const Small = 10

// Sizes holds the numbers of resources in the measured lists.
var Sizes = []int{Small, 100, 1000, 5000}

// label is the label that the function adds to each resource.
const label = "team: platform"

// List returns a ResourceList with the given number of ConfigMaps.
func List(resources int) []byte {
	var list strings.Builder
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range resources {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: cm-%d\n    labels:\n      tier: backend\n  data:\n    key: value\n", i)
	}
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: function-input\n  data:\n    " + label + "\n")
	return []byte(list.String())
}

// Check returns an error unless the output contains the added label, so that an error does not count as a fast call.
func Check(out []byte) error {
	if !bytes.Contains(out, []byte(label)) {
		return errors.New("the output lacks the label")
	}
	return nil
}

// Bare returns a call that runs the function as a process on a list. The executable contains the curated functions.
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
