// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"log"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/remote"
)

// The program needs a function runner, for example "function-runner --exec-config functions.yaml" on this machine.
func ExampleClient() {
	conn, err := remote.Dial("localhost:9445", remote.Limits{})
	if err != nil {
		log.Panic(err)
	}
	defer conn.Close() //nolint:errcheck // All calls have returned.

	response, err := remote.New(conn, remote.Limits{}).Evaluate(context.Background(), evaluation.Request{
		Image: "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.5",
		ResourceList: []byte(`apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: shop}}
`),
	})
	if err != nil {
		log.Panic(err)
	}
	if failure := response.Report.GetFailure(); failure != nil {
		log.Panic(failure.GetMessage())
	}
	fmt.Println(string(response.ResourceList))
}
