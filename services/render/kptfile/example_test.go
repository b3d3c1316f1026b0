// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile_test

import (
	"fmt"
	"log"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
)

func ExampleParse() {
	kf, err := kptfile.Parse("shop", []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n  - image: set-labels:v0.2.0\n"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kf.Name, kf.Pipeline.Mutators[0].Image)
	// Output: shop set-labels:v0.2.0
}

// A patch changes only its fields, and keeps comments.
func ExamplePatch_Merge() {
	kf := yaml.MustParse("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop # as in DNS\n")
	patch := kptfile.Patch{Labels: map[string]string{"team": "web"}}
	if err := patch.Merge(kf); err != nil {
		log.Fatal(err)
	}
	fmt.Print(kf.MustString())
	// Output:
	// apiVersion: kpt.dev/v1
	// kind: Kptfile
	// metadata:
	//   name: shop # as in DNS
	//   labels:
	//     team: web
}
