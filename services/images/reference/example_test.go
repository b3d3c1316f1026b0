// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"log"

	"github.com/krmfn/krmfn/services/images/reference"
)

// A function in a Kptfile has the fields image and tag.
func ExampleForFunction() {
	ref, err := reference.ForFunction("set-labels", "v0.2.0", reference.CatalogPrefix)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ref)
	// Output: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0
}

// A version constraint is resolved with the tags of the repository.
func ExampleConstraint_Resolve() {
	constraint, ok := reference.FunctionConstraint("set-labels", "~0.2", reference.CatalogPrefix)
	if !ok {
		log.Fatal("the tag is not a version constraint")
	}
	ref, err := constraint.Resolve([]string{"v0.1.5", "v0.2.0", "v0.2.4", "v0.3.0", "latest"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ref)
	// Output: ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.4
}

// Rules replace the prefixes of references, here with a mirror's.
func ExampleRewrites() {
	var rewrites reference.Rewrites
	if err := rewrites.Set("ghcr.io/kptdev=mirror.example.org/kpt"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(rewrites.Apply("ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0"))
	// Output: mirror.example.org/kpt/krm-functions-catalog/set-labels:v0.2.0
}
