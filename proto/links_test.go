// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package proto_test tests what generated code links.
package proto_test

import (
	"os/exec"
	"regexp"
	"testing"

	// Imported so that a change of them makes go test run this again, rather than remember its last result.
	_ "github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	_ "github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	_ "github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
)

// generated is the directory that generated code is in.
const generated = "./gen/go/"

// What validates requests is larger than all of the wrapper server, which is copied into every function pod.
var validation = regexp.MustCompile(`(?m)^.*(buf/validate|protovalidate|cel-go|cel\.dev).*$`)

func TestValidationIsLinkedOnlyWhereRequestsAreValidated(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		packages []string
		links    bool
	}{
		"evaluator": {
			packages: []string{"protocolbuffers/go/evaluator", "grpc/go/evaluator/evaluatorgrpc"},
		},
		"krmfn.evaluation.v1": {
			packages: []string{"protocolbuffers/go/krmfn/evaluation/v1"},
		},
		"krmfn.wrapper.v1": {
			packages: []string{"protocolbuffers/go/krmfn/wrapper/v1", "grpc/go/krmfn/wrapper/v1/wrapperv1grpc"},
		},
		"krmfn.evaluator.v1": {
			packages: []string{"protocolbuffers/go/krmfn/evaluator/v1"},
			links:    true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for _, pkg := range test.packages {
				found := validation.FindAllString(dependencies(t, generated+pkg), -1)
				if (len(found) > 0) != test.links {
					t.Errorf("%s links %q; want validation code linked: %t", pkg, found, test.links)
				}
			}
		})
	}
}

// dependencies lists the import paths of what a package links, one a line.
func dependencies(t *testing.T, pkg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return string(out)
}
