// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

const copied = `# of the document
apiVersion: v1 # of a value
kind: ConfigMap
metadata:
  name: a
  labels: {x: "1", y: "2"}
data:
  list: [a, b]
  nested:
  - c: d
`

func TestCopy(t *testing.T) {
	t.Parallel()
	original := yaml.MustParse(copied)
	before := original.MustString()
	made := yaml.NewRNode(resource.Copy(original.YNode()))
	if got := made.MustString(); got != before {
		t.Errorf("the copy is\n%s\nwant\n%s", got, before)
	}
	// What is added at one place of the copy must show there only.
	for _, field := range []string{"metadata", "data"} {
		if err := made.PipeE(yaml.Lookup(field), yaml.SetField("new", yaml.NewStringRNode(field))); err != nil {
			t.Fatal(err)
		}
	}
	if err := made.PipeE(yaml.Lookup("data", "list"), yaml.Append(yaml.NewStringRNode("c").YNode())); err != nil {
		t.Fatal(err)
	}
	want := yaml.MustParse(copied)
	if err := want.PipeE(yaml.Tee(yaml.Lookup("metadata"), yaml.SetField("new", yaml.NewStringRNode("metadata"))),
		yaml.Tee(yaml.Lookup("data"), yaml.SetField("new", yaml.NewStringRNode("data"))),
		yaml.Tee(yaml.Lookup("data", "list"), yaml.Append(yaml.NewStringRNode("c").YNode()))); err != nil {
		t.Fatal(err)
	}
	if got := made.MustString(); got != want.MustString() {
		t.Errorf("the changed copy is\n%s\nwant\n%s", got, want.MustString())
	}
	if got := original.MustString(); got != before {
		t.Errorf("the original has changed:\n%s", got)
	}
	if resource.Copy(nil) != nil {
		t.Error("a copy of nothing is something")
	}
}
