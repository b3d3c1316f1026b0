// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/packagerevision"
)

// tags are the tags of every repository.
type tags []string

func (t tags) Tags(context.Context, string) ([]string, error) { return t, nil }

// A version constraint stays in the Kptfile, and the report has the resolved tag.
func TestVersionConstraint(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"Kptfile": head + strings.Replace(pipeline, "image: set-namespace\n", "image: set-namespace\n      tag: ~0.4\n", 1), "a.yaml": cm,
	}
	h := handler()
	h.Render.ImagePrefix, h.Render.Tags = reference.CatalogPrefix, tags{"v0.4.1", "v0.4.5", "v0.5.0"}
	draft := packagerevision.NewMemoryDraft(files)
	report, err := h.PatchKptfile(t.Context(), draft, draftRevision(), draftRevision())
	checkError(t, err, "")
	checkFiles(t, "a constraint", map[string]string{"Kptfile": files["Kptfile"], "a.yaml": shopCM}, draft.Published())
	if want := reference.CatalogPrefix + "/set-namespace:v0.4.5"; report == nil || len(report.Result.Items) != 1 || report.Result.Items[0].Image != want {
		t.Errorf("report = %+v, want %s", report, want)
	}
	h.Render.Tags = nil
	_, err = h.PatchKptfile(t.Context(), packagerevision.NewMemoryDraft(files), draftRevision(), draftRevision())
	checkError(t, err, "is a version constraint, which cannot be resolved without a registry")
}
