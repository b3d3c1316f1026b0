// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/tree"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	var directories []tree.Directory
	for _, path := range []string{"db/x/y", "db-2", "db", "web", "."} {
		directories = append(directories, tree.Directory{Path: path, Lines: []string{path, "below " + path}})
	}
	want := `.
│  below .
├─ db
│  │  below db
│  └─ db/x/y
│        below db/x/y
├─ db-2
│     below db-2
└─ web
      below web
`
	got := tree.Draw(directories, func(text string) string { return text })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	painted := tree.Draw(directories[2:3], strings.ToUpper)
	if diff := cmp.Diff("db\n   below db\n", painted); diff != "" {
		t.Errorf("alone (-want +got):\n%s", diff)
	}
	if got := tree.Draw(nil, nil); got != "" {
		t.Errorf("nothing is drawn as %q", got)
	}
}
