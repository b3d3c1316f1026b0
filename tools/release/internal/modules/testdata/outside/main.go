// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command outside imports released modules of krmfn and renders a package.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/krmfn/krmfn/functions/setlabels"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	source, err := packages.NewMemory(map[string]string{
		"Kptfile": `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
    - image: set-labels
      configMap:
        tier: web
`,
		"service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop\n",
	})
	if err != nil {
		return err
	}
	result, err := render.Package(ctx, source, render.Options{Evaluator: runtime.Builtin{Functions: function.NewSet(setlabels.Function)}})
	if err != nil {
		return err
	}
	return packages.WriteDocuments(os.Stdout, result.Resources)
}
