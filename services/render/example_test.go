// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// setTeam is a function in Go. The curated functions are in github.com/krmfn/krmfn/functions.
var setTeam = function.Function{
	Name: "set-team", Version: "v1.0.0", Summary: "labels resources with a team",
	Process: func(_ context.Context, list *fn.ResourceList) (bool, error) {
		for _, item := range list.Items {
			if item.GetKind() != "Kptfile" {
				if err := item.SetLabel("team", "shop"); err != nil {
					return false, err
				}
			}
		}
		return true, nil
	},
}

// examplePackage has a pipeline of one function.
var examplePackage = map[string]string{
	"Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n  - image: set-team:v1.0.0\n",
	"service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop # as in DNS\n",
}

// A package in memory is a map from path to content.
func ExamplePackage() {
	source, err := packages.NewMemory(examplePackage)
	if err != nil {
		log.Fatal(err)
	}
	result, err := render.Package(context.Background(), source, render.Options{
		Evaluator: runtime.Builtin{Functions: function.NewSet(setTeam)},
	})
	if err != nil {
		log.Fatal(err) // The report says which function failed and why.
	}
	source.Apply(result.Output.Changes)
	fmt.Print(source.Files()["service.yaml"])
	// Output:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: shop # as in DNS
	//   labels:
	//     team: shop
}

// A package in a directory changes only when the caller applies the changes.
func ExamplePackage_directory() {
	dir, err := os.MkdirTemp("", "package")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	for name, content := range examplePackage {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			log.Panic(err)
		}
	}
	source, err := packages.OpenDir(dir)
	if err != nil {
		log.Panic(err)
	}
	defer source.Close() //nolint:errcheck // Only read from.
	result, err := render.Package(context.Background(), source, render.Options{
		Evaluator: runtime.Builtin{Functions: function.NewSet(setTeam)},
		Observe: func(e render.Event) {
			if e, ok := e.(*render.FunctionFinished); ok {
				fmt.Println("ran", e.Function.Title())
			}
		},
	})
	if err != nil {
		log.Panic(err)
	}
	for _, change := range result.Output.Changes {
		fmt.Println("changed", change.Path)
	}
	if err := source.Apply(result.Output.Changes); err != nil {
		log.Panic(err)
	}
	// Output:
	// ran set-team:v1.0.0
	// changed service.yaml
}
