// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// An Evaluator runs a function once on a ResourceList. If the function fails, the response contains the failure, and the error is nil.
func ExampleEvaluator() {
	named := function.Function{
		Name: "check-names", Version: "v1.0.0", Summary: "wants short names",
		Process: func(_ context.Context, list *fn.ResourceList) (bool, error) {
			for _, item := range list.Items {
				if len(item.GetName()) > 10 {
					list.Results.Errorf("the name %s is too long", item.GetName())
				}
			}
			return len(list.Results) == 0, nil
		},
	}
	var evaluator evaluation.Evaluator = runtime.Builtin{Functions: function.NewSet(named)}
	for _, name := range []string{"shop", "a-shop-with-a-long-name"} {
		list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: " + name + "\n"
		response, err := evaluator.Evaluate(context.Background(), evaluation.Request{Image: "check-names", ResourceList: []byte(list)})
		if err != nil {
			log.Fatal(err) // The function is unknown, or it could not be reached.
		}
		if response.Report.GetFailure() != nil {
			for _, result := range response.Report.GetResults() {
				fmt.Println(result.GetSeverity()+":", result.GetMessage())
			}
			continue
		}
		fmt.Println("passed")
	}
	// Output:
	// passed
	// error: the name a-shop-with-a-long-name is too long
}
