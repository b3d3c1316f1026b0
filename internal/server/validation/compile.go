// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"
	"slices"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// validator holds the checks of messages by message name.
type validator map[protoreflect.FullName][]func(protoreflect.Message) string

// violation returns the first violation in a message, with the path of the field, or "".
func (v validator) violation(m protoreflect.Message) string {
	for _, check := range v[m.Descriptor().FullName()] {
		if violation := check(m); violation != "" {
			return violation
		}
	}
	return ""
}

// add compiles the rules of a message, and of the messages in its fields.
func (v validator) add(m protoreflect.MessageDescriptor) error {
	name := m.FullName()
	if _, added := v[name]; added {
		return nil
	}
	v[name] = nil
	if proto.HasExtension(m.Options(), validate.E_Message) {
		return fmt.Errorf("%s: rules of messages are not implemented", name)
	}
	for i := range m.Oneofs().Len() {
		oneof := m.Oneofs().Get(i)
		if rules, _ := proto.GetExtension(oneof.Options(), validate.E_Oneof).(*validate.OneofRules); rules.GetRequired() {
			v[name] = append(v[name], required(oneof))
		}
	}
	for i := range m.Fields().Len() {
		field := m.Fields().Get(i)
		checks, err := v.checks(field)
		if err != nil {
			return fmt.Errorf("%s: %w", field.FullName(), err)
		}
		if len(checks) == 0 {
			continue
		}
		v[name] = append(v[name], func(m protoreflect.Message) string {
			if field.HasPresence() && !m.Has(field) {
				return ""
			}
			if violation := first(checks, m.Get(field)); violation != "" {
				return string(field.Name()) + violation
			}
			return ""
		})
	}
	return nil
}

func required(oneof protoreflect.OneofDescriptor) func(protoreflect.Message) string {
	return func(m protoreflect.Message) string {
		if m.WhichOneof(oneof) == nil {
			return string(oneof.Name()) + ": exactly one field is required in oneof"
		}
		return ""
	}
}

// checks compiles the rules of a field, and adds its messages.
func (v validator) checks(field protoreflect.FieldDescriptor) ([]check, error) {
	rules, _ := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	all, err := compile(rules)
	if err != nil || field.IsMap() {
		return all, err
	}
	each, err := compile(rules.GetRepeated().GetItems())
	if err != nil {
		return nil, err
	}
	if message := field.Message(); message != nil {
		if err := v.add(message); err != nil {
			return nil, err
		}
		each = append(each, func(value protoreflect.Value) string {
			if violation := v.violation(value.Message()); violation != "" {
				return "." + violation
			}
			return ""
		})
	}
	if len(each) == 0 || !field.IsList() {
		return append(all, each...), nil
	}
	return append(all, func(list protoreflect.Value) string {
		for i := range length(list) {
			if violation := first(each, list.List().Get(i)); violation != "" {
				return fmt.Sprintf("[%d]%s", i, violation)
			}
		}
		return ""
	}), nil
}

// first returns the first violation in a value, or "".
func first(checks []check, value protoreflect.Value) string {
	for _, check := range checks {
		if violation := check(value); violation != "" {
			return violation
		}
	}
	return ""
}

// compile returns the checks for the rules of a field, in the order of the rules' field numbers, without the rules for items.
func compile(of *validate.FieldRules) (checks []check, err error) {
	of.ProtoReflect().Range(func(kind protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if kind.Message() == nil || kind.IsList() {
			err = fmt.Errorf("rule %s is not implemented", kind.FullName())
			return false
		}
		var set []protoreflect.FieldDescriptor
		value.Message().Range(func(rule protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			set = append(set, rule)
			return true
		})
		slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
		for _, rule := range set {
			if rule.FullName() == "buf.validate.RepeatedRules.items" {
				continue
			}
			checkOf, implemented := rules[rule.FullName()]
			if !implemented {
				err = fmt.Errorf("rule %s is not implemented", rule.FullName())
				return false
			}
			checks = append(checks, checkOf(value.Message().Get(rule)))
		}
		return true
	})
	return checks, err
}
