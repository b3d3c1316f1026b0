// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

// owner is the functionConfig of the function. Its values may come from a ConfigMap.
type owner struct {
	Team string `json:"team"`
}

// setOwner annotates each resource with the team in the functionConfig.
var setOwner = function.Function{
	Name: "set-owner", Version: "v1.0.0", Summary: "annotates resources with their owner",
	Process: func(_ context.Context, list *fn.ResourceList) (bool, error) {
		var config owner
		if err := function.DecodeConfig(list.FunctionConfig, "SetOwner", &config); err != nil {
			return false, err
		}
		for _, item := range list.Items {
			if err := item.SetAnnotation("example.org/owner", config.Team); err != nil {
				return false, err
			}
		}
		return true, nil
	},
}

const input = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    name: shop
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: config
  data:
    team: web
`

// Run evaluates a function in process.
func ExampleRun() {
	output, err := function.Run(context.Background(), setOwner, []byte(input))
	if err != nil {
		log.Fatal(err)
	}
	list, err := fn.ParseResourceList(output)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(list.Items[0].GetAnnotation("example.org/owner"))
	// Output: web
}

// The program in a function image calls Main.
func ExampleMain() {
	os.Exit(function.Main(setOwner, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
