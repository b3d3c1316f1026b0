// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package yamlprint_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
)

type value struct {
	Text  string            `json:"text" yaml:"text"`
	None  *string           `json:"none" yaml:"none"`
	Count int               `json:"count,omitempty" yaml:"count,omitempty"`
	Yes   bool              `json:"yes" yaml:"yes"`
	Texts []string          `json:"texts,omitempty" yaml:"texts,omitempty"`
	Map   map[string]string `json:"map" yaml:"map"`
	Below []value           `json:"below,omitempty" yaml:"below,omitempty"`
}

// special lists characters with a meaning in YAML, and rare ones.
const special = "\t\n\r ab:#-'\"|>%@&*!?{}[],\u0085\u2028\ufeff\x00\x1b\x7f\\~=<é😀0.y"

func drawValue(t *rapid.T, depth int) value {
	text := rapid.StringOfN(rapid.RuneFrom([]rune(special)), 0, 8, -1)
	v := value{
		Text: text.Draw(t, "text"), Count: rapid.IntRange(math.MinInt, math.MaxInt).Draw(t, "count"), Yes: rapid.Bool().Draw(t, "yes"),
		Texts: rapid.SliceOfN(text, 0, 3).Draw(t, "texts"), Map: rapid.MapOfN(text, text, 0, 3).Draw(t, "map"),
	}
	for range rapid.IntRange(0, depth).Draw(t, "below") {
		v.Below = append(v.Below, drawValue(t, depth-1))
	}
	if len(v.Texts) == 0 {
		v.Texts = nil
	}
	return v
}

func TestValueRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawValue(t, 2)
		n, err := yamlprint.Value(want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yamlprint.Print(n, yaml.WideSequenceStyle)
		if err != nil {
			t.Fatal(err)
		}
		var got value
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatalf("decoding: %v; text:\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestValueMatchesEncoder(t *testing.T) {
	t.Parallel()
	v := value{
		Text: "yes", Count: -3, Texts: []string{"a\nb\n", "", "1e3", "0x1", "~", "a: b", "# c"}, Map: map[string]string{"b": "2", "a": "on"},
		Below: []value{{Text: "d", Map: map[string]string{}, Yes: true}},
	}
	want, err := yaml.MarshalWithOptions(v, &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
	if err != nil {
		t.Fatal(err)
	}
	n, err := yamlprint.Value(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := yamlprint.Print(n, yaml.WideSequenceStyle)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-encoder +got):\n%s", diff)
	}
}
