// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package traits_test

import (
	"testing"

	"github.com/krmfn/krmfn/internal/traits"
)

func TestParse(t *testing.T) {
	t.Parallel()
	all := traits.Traits{Worker: true, Deterministic: true, NoStandby: true}
	for name, tc := range map[string]struct {
		base   traits.Traits
		labels map[string]string
		want   traits.Traits
		err    string
	}{
		"no trait labels":        {labels: map[string]string{"maintainer": "me"}},
		"base":                   {base: all, want: all},
		"a worker":               {labels: map[string]string{traits.WorkerLabel: "true"}, want: traits.Traits{Worker: true}},
		"deterministic":          {labels: map[string]string{traits.DeterministicLabel: "true"}, want: traits.Traits{Deterministic: true}},
		"without standby":        {labels: map[string]string{traits.StandbyLabel: "false"}, want: traits.Traits{NoStandby: true}},
		"with standby":           {labels: map[string]string{traits.StandbyLabel: "true"}},
		"all reset":              {base: all, labels: map[string]string{traits.WorkerLabel: "false", traits.DeterministicLabel: "false", traits.StandbyLabel: "true"}},
		"one invalid value":      {labels: map[string]string{traits.WorkerLabel: "1", traits.StandbyLabel: "false"}, want: traits.Traits{NoStandby: true}, err: `krmfn.dev/worker is "1", want true or false`},
		"several invalid values": {base: all, labels: map[string]string{traits.WorkerLabel: "", traits.DeterministicLabel: "yes", traits.StandbyLabel: "no"}, want: all, err: `krmfn.dev/deterministic is "yes", want true or false`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Repeat because the order of maps is random.
			for range 20 {
				got, err := traits.Parse(tc.base, tc.labels)
				text := ""
				if err != nil {
					text = err.Error()
				}
				if got != tc.want || text != tc.err {
					t.Fatalf("Parse() = %+v, %q, want %+v, %q", got, text, tc.want, tc.err)
				}
			}
		})
	}
}
