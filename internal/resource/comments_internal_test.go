// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestMergeKeysMatchTheSchema(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(openapi.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	var collect func(value any)
	collect = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if key, ok := value["x-kubernetes-patch-merge-key"].(string); ok {
				found[key] = true
			}
			keys, _ := value["x-kubernetes-list-map-keys"].([]any)
			for _, key := range keys {
				found[key.(string)] = true
			}
			for _, child := range value {
				collect(child)
			}
		case []any:
			for _, child := range value {
				collect(child)
			}
		}
	}
	collect(schema)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(found)), mergeKeys); diff != "" {
		t.Errorf("mergeKeys differ from the schema (-schema +mergeKeys):\n%s", diff)
	}
}

// commenter draws parts of a Deployment with comments and folded scalars.
type commenter struct{ *rapid.T }

func (c commenter) comment(n *yaml.Node) *yaml.Node {
	draw := func() string { return rapid.SampledFrom([]string{"", "", "", "", "# a", "# b"}).Draw(c.T, "comment") }
	n.HeadComment, n.LineComment, n.FootComment = draw(), draw(), draw()
	return n
}

func (c commenter) scalar(values ...string) *yaml.Node {
	n := c.comment(str(rapid.SampledFrom(values).Draw(c.T, "value")))
	switch rapid.IntRange(0, 9).Draw(c.T, "style") {
	case 0:
		n.Style = yaml.FoldedStyle
	case 1:
		n.Tag, n.Value = yaml.NodeTagNull, "null"
	}
	return n
}

// mapping draws a mapping with a subset of the fields.
func (c commenter) mapping(fields map[string]func() *yaml.Node) *yaml.Node {
	n := c.comment(&yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap})
	for _, key := range rapid.Permutation(slices.Sorted(maps.Keys(fields))).Draw(c.T, "fields") {
		if rapid.IntRange(0, 3).Draw(c.T, "field") > 0 {
			n.Content = append(n.Content, c.comment(str(key)), fields[key]())
		}
	}
	return n
}

func (c commenter) list(element func() *yaml.Node) func() *yaml.Node {
	return func() *yaml.Node {
		n := c.comment(&yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq})
		for range rapid.IntRange(0, 3).Draw(c.T, "length") {
			n.Content = append(n.Content, element())
		}
		return n
	}
}

func (c commenter) deployment() *yaml.Node {
	scalar := func(values ...string) func() *yaml.Node { return func() *yaml.Node { return c.scalar(values...) } }
	mapping := func(fields map[string]func() *yaml.Node) func() *yaml.Node {
		return func() *yaml.Node { return c.mapping(fields) }
	}
	port := mapping(map[string]func() *yaml.Node{"containerPort": scalar("80", "81"), "protocol": scalar("TCP", "UDP"), "name": scalar("http", "dns")})
	container := mapping(map[string]func() *yaml.Node{
		"name": scalar("web", "proxy"), "image": scalar("a", "b"), "args": c.list(scalar("x", "y", "z")), "ports": c.list(port),
		"env": c.list(mapping(map[string]func() *yaml.Node{"name": scalar("X", "Y"), "value": scalar("1", "2")})),
	})
	spec := mapping(map[string]func() *yaml.Node{"containers": c.list(container), "nodeName": scalar("n", "m")})
	template := mapping(map[string]func() *yaml.Node{"spec": spec})
	root := mapping(map[string]func() *yaml.Node{
		"metadata": mapping(map[string]func() *yaml.Node{"name": scalar("web"), "finalizers": c.list(scalar("f", "g"))}),
		"spec":     mapping(map[string]func() *yaml.Node{"replicas": scalar("1", "2"), "template": template}),
	})()
	root.Content = append([]*yaml.Node{str("apiVersion"), str("apps/v1"), str("kind"), str("Deployment")}, root.Content...)
	return root
}

// change modifies some scalars and comments at and below n, and removes or swaps some fields and elements.
func (c commenter) change(n *yaml.Node) {
	switch rapid.IntRange(0, 9).Draw(c.T, "change") {
	case 0:
		n.HeadComment, n.LineComment, n.FootComment = "", "# new", ""
	case 1, 2, 3:
		n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	case 4:
		if n.Kind == yaml.ScalarNode && n.Tag != yaml.NodeTagNull {
			n.Value = rapid.SampledFrom([]string{"web", "80", "x", "new"}).Draw(c.T, "value")
		}
	case 5:
		if n.Kind == yaml.SequenceNode && len(n.Content) > 1 {
			n.Content[0], n.Content[1] = n.Content[1], n.Content[0]
		}
	case 6:
		if n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
			n.Content = n.Content[1:]
		}
	}
	for i, child := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			c.change(child)
		}
	}
}

func TestCopyCommentsMatchesKyaml(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := commenter{t}
		from := c.deployment()
		to := yaml.CopyYNode(from)
		c.change(to)
		to.Content[1].Value, to.Content[3].Value = "apps/v1", "Deployment"
		want := yaml.CopyYNode(to)
		wantErr := comments.CopyComments(yaml.NewRNode(yaml.CopyYNode(from)), yaml.NewRNode(want))
		got := yaml.CopyYNode(to)
		gotErr := copyComments(yaml.NewRNode(from), yaml.NewRNode(got))
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("copyComments() = %v, want %v, from\n%s\nto\n%s", gotErr, wantErr, yaml.NewRNode(from).MustString(), yaml.NewRNode(to).MustString())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("copyComments() (-kyaml +got):\n%s\nfrom\n%s\nto\n%s", diff, yaml.NewRNode(from).MustString(), yaml.NewRNode(to).MustString())
		}
	})
}
