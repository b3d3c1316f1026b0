// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision_test

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/packagerevision/packagecontext"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// A host opens a draft for each operation. This example uses drafts in memory.
func ExampleHandler() {
	ctx := context.Background()
	// The packages have no functions. For others, set Handler.Render.
	handler := packagerevision.Handler{}
	revision := packagerevision.Revision{
		Lifecycle: packagerevision.LifecycleDraft,
		Context:   packagecontext.Context{Path: "regions/eu/shop", Repository: "blueprints"},
	}

	// A task creates the revision. Without a task, the package is empty.
	draft := packagerevision.NewMemoryDraft(nil)
	if _, err := handler.ApplyTask(ctx, draft, revision, nil); err != nil {
		log.Fatal(err)
	}
	files := draft.Published()
	fmt.Println("created", slices.Sorted(maps.Keys(files)))

	// The owner changes labels of the Kptfile.
	draft = packagerevision.NewMemoryDraft(files)
	labelled := revision
	labelled.Kptfile = kptfile.Patch{Labels: map[string]string{"team": "shop"}}
	if _, err := handler.PatchKptfile(ctx, draft, revision, labelled); err != nil {
		log.Fatal(err)
	}
	fmt.Println("patched", draft.Reasons())

	// A user pushes other files.
	draft = packagerevision.NewMemoryDraft(draft.Published())
	files = draft.Published()
	files["service.yaml"] = "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop\n"
	if _, err := handler.ReplaceResources(ctx, draft, labelled, files); err != nil {
		log.Fatal(err)
	}
	fmt.Println("replaced", slices.Sorted(maps.Keys(draft.Published())))
	// Output:
	// created [Kptfile README.md package-context.yaml]
	// patched [render]
	// replaced [Kptfile README.md package-context.yaml service.yaml]
}
