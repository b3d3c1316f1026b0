// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// TestUnshared checks that functions with the trait Unshared do not put a node at two places.
func TestUnshared(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		if !f.Unshared {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			// Two resources of each kind, so that values of the functionConfig are used more than once.
			again := strings.NewReplacer("name: web", "name: web2", "name: c}", "name: c2}", "name: old", "name: old2", "name: k,", "name: k2,")
			rl, err := fn.ParseResourceList([]byte(functiontest.List(workItems[1:]+again.Replace(workItems[1:]), workConfigs[f.Name])))
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := f.Process(t.Context(), rl); !ok || err != nil {
				t.Fatalf("Process() = %t, %v: %v", ok, err, rl.Results)
			}
			seen := map[*yaml.Node]bool{}
			for _, item := range rl.Items {
				if shared := seenBefore(function.NodeOf(item), seen); shared != nil {
					t.Errorf("node %q in %s occurs twice", shared.Value, item.ShortString())
				}
			}
		})
	}
}

// seenBefore returns a node that occurs for the second time, or nil.
func seenBefore(n *yaml.Node, seen map[*yaml.Node]bool) *yaml.Node {
	if seen[n] {
		return n
	}
	seen[n] = true
	for _, below := range n.Content {
		if shared := seenBefore(below, seen); shared != nil {
			return shared
		}
	}
	return nil
}
