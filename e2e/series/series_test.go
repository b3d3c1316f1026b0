// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package series_test

import (
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/e2e/series"
)

func TestAt(t *testing.T) {
	t.Parallel()
	examples, err := series.Parse(time.Minute, `calls_total{pod="b"} 0+60x20`, `calls_total{pod="a"} 0+120x5 _x15`, `up{pod="a"} 1x2 0x20`)
	if err != nil {
		t.Fatal(err)
	}
	defer examples.Close() //nolint:errcheck // it holds nothing
	for name, tc := range map[string]struct {
		query string
		at    time.Duration
		want  string
	}{
		"a sample":                     {`up`, time.Minute, `{__name__="up", pod="a"} => 1 @[60000]`},
		"a later sample":               {`up`, 3 * time.Minute, `{__name__="up", pod="a"} => 0 @[180000]`},
		"between samples":              {`up`, 90 * time.Second, `{__name__="up", pod="a"} => 1 @[90000]`},
		"a series that has ended":      {`calls_total`, 15 * time.Minute, `{__name__="calls_total", pod="b"} => 900 @[900000]`},
		"a label":                      {`calls_total{pod=~"a|c"}`, 0, `{__name__="calls_total", pod="a"} => 0 @[0]`},
		"no label":                     {`calls_total{pod!="b", code=""}`, 0, `{__name__="calls_total", pod="a"} => 0 @[0]`},
		"a rate":                       {`rate(calls_total{pod="b"}[5m])`, 10 * time.Minute, `{pod="b"} => 1 @[600000]`},
		"a comparison with no result":  {`up > 1`, time.Minute, ``},
		"series that nothing selects":  {`down`, time.Minute, ``},
		"samples after the query time": {`max_over_time(calls_total{pod="b"}[2m])`, 2 * time.Minute, `{pod="b"} => 120 @[120000]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := examples.At(t.Context(), tc.query, tc.at)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != tc.want {
				t.Errorf("At(%s, %v) = %v, want %s", tc.query, tc.at, got, tc.want)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	examples, err := series.Parse(time.Minute, `up{pod="a"} 0+1x4`)
	if err != nil {
		t.Fatal(err)
	}
	defer examples.Close() //nolint:errcheck // it holds nothing
	got, err := examples.Between(t.Context(), "up", time.Minute, 3*time.Minute, 2*time.Minute)
	if want := "{__name__=\"up\", pod=\"a\"} =>\n1 @[60000]\n3 @[180000]"; err != nil || got.String() != want {
		t.Errorf("Between() = %v, %v, want %s", got, err, want)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	if _, err := series.Parse(time.Minute, "up{"); err == nil || !strings.Contains(err.Error(), "series up{: ") {
		t.Errorf("Parse() error = %v, want one that names the series", err)
	}
	examples, err := series.Parse(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer examples.Close() //nolint:errcheck // it holds nothing
	if _, err := examples.At(t.Context(), "up +", 0); err == nil {
		t.Error("At() of an invalid query returned no error")
	}
}
