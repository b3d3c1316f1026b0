// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"pgregory.net/rapid"

	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

// This package rejects a message if and only if protovalidate rejects it, with one of the same reasons.
func TestViolationsMatchProtovalidate(t *testing.T) {
	t.Parallel()
	for _, file := range []protoreflect.FileDescriptor{
		evaluatorv1.File_krmfn_evaluator_v1_evaluator_proto, taskhandlerv1.File_krmfn_taskhandler_v1_taskhandler_proto,
	} {
		v := validator{}
		for i := range file.Messages().Len() {
			message := file.Messages().Get(i)
			if err := v.add(message); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(message.Name()), "Request") {
				continue
			}
			t.Run(string(message.Name()), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					m := draw(t, message)
					got, want := v.violation(m.ProtoReflect()), violations(t, m)
					if got == "" && len(want) > 0 || got != "" && !slices.Contains(want, got) {
						t.Errorf("violation(%v) = %q, want one of %q", m, got, want)
					}
				})
			})
		}
	}
}

// violations returns the violations that protovalidate reports.
func violations(t *rapid.T, m proto.Message) (all []string) {
	err := protovalidate.Validate(m)
	if err == nil {
		return nil
	}
	var found *protovalidate.ValidationError
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	for _, violation := range found.Violations {
		all = append(all, violation.String())
	}
	return all
}

// draw returns a message whose fields are at the limits of rules, just beyond, unset, or valid.
func draw(t *rapid.T, d protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New()
	for i := range d.Fields().Len() {
		field := d.Fields().Get(i)
		switch {
		case field.IsMap() || rapid.IntRange(0, 3).Draw(t, "unset") == 0:
		case field.IsList():
			list := m.Mutable(field).List()
			for range rapid.SampledFrom([]int{0, 1, 2, 3, 256, 257}).Draw(t, "length") {
				list.Append(value(t, field))
				if field.Message() != nil && list.Len() == 3 {
					break
				}
			}
		default:
			m.Set(field, value(t, field))
		}
	}
	return m.Interface()
}

func value(t *rapid.T, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		texts := rapid.SampledFrom([]string{"", "a", "True", "a b", "\n", "é", strings.Repeat("é", 512), strings.Repeat("a", 1025), strings.Repeat("a", 4096), strings.Repeat("a", 4097)})
		return protoreflect.ValueOfString(rapid.OneOf(texts, rapid.StringMatching("[a-z]{6}")).Draw(t, "text"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SampledFrom([][]byte{nil, []byte("a")}).Draw(t, "bytes"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64Range(-1, 1).Draw(t, "number"))
	case protoreflect.MessageKind:
		return protoreflect.ValueOfMessage(draw(t, field.Message()).ProtoReflect())
	default:
		return field.Default()
	}
}

// A server does not start with rules that would not be enforced.
func TestUnimplementedRulesAreErrors(t *testing.T) {
	t.Parallel()
	for want, rules := range map[string]*validate.FieldRules{
		"rule buf.validate.StringRules.email is not implemented":   validate.FieldRules_builder{String: validate.StringRules_builder{Email: new(true)}.Build()}.Build(),
		"rule buf.validate.FieldRules.required is not implemented": validate.FieldRules_builder{Required: new(true)}.Build(),
		"rule buf.validate.FieldRules.cel is not implemented":      validate.FieldRules_builder{Cel: []*validate.Rule{{}}}.Build(),
		"rule buf.validate.Int64Rules.lt is not implemented": validate.FieldRules_builder{Repeated: validate.RepeatedRules_builder{
			Items: validate.FieldRules_builder{Int64: validate.Int64Rules_builder{Lt: new(int64(1))}.Build()}.Build(),
		}.Build()}.Build(),
	} {
		options := &descriptorpb.FieldOptions{}
		proto.SetExtension(options, validate.E_Field, rules)
		_, err := validator{}.checks(fieldWith{evaluatorv1.File_krmfn_evaluator_v1_evaluator_proto.Messages().Get(0).Fields().Get(0), options})
		if err == nil || err.Error() != want {
			t.Errorf("checks() = %v, want %s", err, want)
		}
	}
}

// fieldWith is a field with other options.
type fieldWith struct {
	protoreflect.FieldDescriptor

	options *descriptorpb.FieldOptions
}

func (f fieldWith) Options() protoreflect.ProtoMessage { return f.options }
