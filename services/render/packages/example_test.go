// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"fmt"
	"log"

	"github.com/krmfn/krmfn/services/render/packages"
)

// A program opens a tree, edits resources, and gets the changed files.
func ExampleTree_Output() {
	source, err := packages.NewMemory(map[string]string{
		"Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n",
		"service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: shop # as in DNS\n",
		"notes.txt":    "not a resource file",
	})
	if err != nil {
		log.Fatal(err)
	}
	tree, err := packages.Open(source)
	if err != nil {
		log.Fatal(err)
	}
	pkg, err := tree.Load(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := tree.ReadResources(pkg); err != nil {
		log.Fatal(err)
	}
	for _, r := range pkg.Resources {
		if r.GetKind() == "Service" {
			if err := r.SetNamespace("web"); err != nil {
				log.Fatal(err)
			}
		}
	}
	output, err := tree.Output(pkg.Resources, pkg)
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range output.Changes {
		fmt.Printf("%s:\n%s", change.Path, change.After)
	}
	// Output:
	// service.yaml:
	// apiVersion: v1
	// kind: Service
	// metadata:
	//   name: shop # as in DNS
	//   namespace: web
}
