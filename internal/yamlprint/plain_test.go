// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// resources are documents that plain must support, because most resources look like them.
var resources = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # line\n  annotations:\n    config.kubernetes.io/index: '0'\n    x: \"a \\\"b\\\" \\\\ c\"\n  labels: {}\ndata:\n  # above\n  # the key\n  key: value\n  empty: \"\"\n",
	"# head\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 3\n  on: true\n  off: 'false'\n  none: null\n  half: 0.5\n  template:\n    containers:\n    - name: a\n      image: nginx:1.2\n      args: []\n      command:\n      - -c # line\n      - '- it''s'\n      env:\n      - name: b\n        # above\n        value: -1\n    - name: b\n",
	"# licence ©\n# of it\n\n# more\n\na: |\n  b\n\n   c\n  \td é\ne:\n  # item\n  - |-\n    f\n  # item\n  - g: |\n      # h\n      i\n    # j ©\n    k: l\n",
	"a:\n  - 1\n  - {}\n  - b: 2024-01-01\n    c: http://x:80/#y\n",
}

func TestPlainResources(t *testing.T) {
	t.Parallel()
	for _, text := range resources {
		n := yaml.MustParse(strings.TrimPrefix(text, "# head\n")).Document()
		for _, style := range []yaml.SequenceIndentStyle{yaml.WideSequenceStyle, yaml.CompactSequenceStyle} {
			want, err := printer{style: style}.encode(n)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := printPlain(n, style)
			if diff := cmp.Diff(string(want), string(got)); diff != "" || !ok {
				t.Errorf("printPlain() ok = %v (-encoder +plain):\n%s", ok, diff)
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, text := range resources {
		f.Add(text, false)
	}
	f.Add("a: b\n# foot\nc: |\n  d\n", true)
	f.Fuzz(func(t *testing.T, text string, wide bool) {
		n, err := yaml.Parse(text)
		if err != nil {
			t.Skip(err)
		}
		samePlain(t, n.Document(), wide)
	})
}

func TestPlainNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := drawPlain(t, 4)
		if rapid.Bool().Draw(t, "document") {
			n = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{n}, HeadComment: drawHead(t)}
		}
		samePlain(t, n, rapid.Bool().Draw(t, "wide"))
	})
}

// samePlain compares the output of printPlain with the encoder's, if printPlain supports the node.
func samePlain(t rapid.TB, n *yaml.Node, wide bool) {
	t.Helper()
	style := yaml.CompactSequenceStyle
	if wide {
		style = yaml.WideSequenceStyle
	}
	got, ok := printPlain(n, style)
	if !ok {
		return
	}
	want, err := printer{style: style}.encode(n)
	if err != nil {
		t.Fatalf("the encoder fails for a node that printPlain supports: %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-encoder +plain):\n%s", diff)
	}
}

// drawPlain draws a supported node, in which single properties may be unsupported.
func drawPlain(t *rapid.T, depth int) *yaml.Node {
	n := &yaml.Node{}
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	if depth == 4 {
		kind = max(kind, 1)
	}
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		n.Kind, n.Tag = yaml.MappingNode, rapid.SampledFrom([]string{"", yaml.NodeTagMap}).Draw(t, "tag")
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			n.Content = append(n.Content, drawScalar(t), drawPlain(t, depth-1))
		}
	case 2:
		n.Kind, n.Tag = yaml.SequenceNode, yaml.NodeTagSeq
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			n.Content = append(n.Content, drawPlain(t, depth-1))
		}
	default:
		n = drawScalar(t)
		n.LineComment = rapid.SampledFrom([]string{"", "", "", "# line", "line", "# two\n# lines"}).Draw(t, "line")
	}
	if n.Kind != yaml.ScalarNode && rapid.IntRange(0, 4).Draw(t, "above") == 0 {
		n.HeadComment = drawHead(t)
	}
	if rapid.IntRange(0, 9).Draw(t, "flow") == 0 {
		n.Style |= yaml.FlowStyle
	}
	return n
}

func drawScalar(t *rapid.T) *yaml.Node {
	return &yaml.Node{
		Kind: yaml.ScalarNode,
		Tag: rapid.SampledFrom([]string{
			"", yaml.NodeTagString, yaml.NodeTagString, yaml.NodeTagInt, yaml.NodeTagBool, yaml.NodeTagNull, yaml.NodeTagFloat, "!!timestamp", "!!merge", "!own", "tag:yaml.org,2002:str",
		}).Draw(t, "tag"),
		Value: rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab1 :#-?'\"\\,.[]{}&*!|>%@`~<=é\t\n")), 0, 6, -1),
			rapid.SampledFrom([]string{"true", "no", "null", "~", "1", "1.5", "0x1", "1e3", "2024-01-01", "<<", ".nan", "+.inf", "=", "a\nb", "a\n b\n", "a\n\n\tb\u00a0\n", "a \nb", "a\n\n", "a\nb ", "\ta\n", " a\nb", "a\u2028\nb", "a\r\nb", strings.Repeat("k", maxKey), strings.Repeat("k", 200)})).Draw(t, "value"),
		Style:       rapid.SampledFrom([]yaml.Style{0, 0, 0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.TaggedStyle}).Draw(t, "style"),
		HeadComment: drawHead(t),
	}
}

func drawHead(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", "", "# head", "# two\n# lines", "# two\n\n# parts", "# three\n\n\n# parts", "# é\t", "# end\n", "\n# begin", "no comment"}).Draw(t, "head")
}
