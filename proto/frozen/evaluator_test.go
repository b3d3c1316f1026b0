// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package frozen_test holds package evaluator against what Porch speaks, which is recorded in this directory.
package frozen_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

func TestDescriptorIsTheRecordedOne(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("evaluator.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	want := &descriptorpb.FileDescriptorProto{}
	if err := prototext.Unmarshal(text, want); err != nil {
		t.Fatal(err)
	}

	got := protodesc.ToFileDescriptorProto(evaluator.File_evaluator_evaluator_proto)
	// Neither is on the wire: where the file is, and where its Go code is.
	got.Name = nil
	got.Options = nil

	// "rpc … {}" has options, if empty ones.
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
		t.Errorf("package evaluator differs from what Porch speaks (-recorded +ours):\n%s", diff)
	}
}

func TestMethodPath(t *testing.T) {
	t.Parallel()

	const want = "/evaluator.FunctionEvaluator/EvaluateFunction"
	if got := evaluatorgrpc.FunctionEvaluator_EvaluateFunction_FullMethodName; got != want {
		t.Errorf("generated constant is %q, want %q", got, want)
	}
	desc := evaluatorgrpc.FunctionEvaluator_ServiceDesc
	if len(desc.Methods) != 1 || len(desc.Streams) != 0 {
		t.Fatalf("service has %d unary and %d streaming methods, want 1 and 0", len(desc.Methods), len(desc.Streams))
	}
	if got := "/" + desc.ServiceName + "/" + desc.Methods[0].MethodName; got != want {
		t.Errorf("server registers %q, want %q", got, want)
	}
}

func TestWireBytes(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		message proto.Message
		wire    string
	}{
		"request": {
			&evaluator.EvaluateFunctionRequest{ResourceList: []byte("list"), Image: "set-labels:v0.2.0"},
			"\x0a\x04list" + "\x12\x11set-labels:v0.2.0",
		},
		"response": {
			&evaluator.EvaluateFunctionResponse{ResourceList: []byte("list"), Log: []byte("\xff\x00log")},
			"\x0a\x04list" + "\x12\x05\xff\x00log",
		},
		"config map": {
			&evaluator.ConfigMap{Data: map[string]string{"key": "value"}},
			"\x0a\x0c" + "\x0a\x03key" + "\x12\x05value",
		},
		"empty request": {&evaluator.EvaluateFunctionRequest{}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(test.message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.wire, string(wire)); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}

			decoded := test.message.ProtoReflect().New().Interface()
			if err := proto.Unmarshal([]byte(test.wire), decoded); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.message, decoded, protocmp.Transform()); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}
