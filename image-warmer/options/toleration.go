// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// tolerations is the value of --toleration: all of them, and their texts.
type tolerations struct {
	all   *[]corev1.Toleration
	texts []string
}

// Set adds one toleration: key[=value][:effect]. Without a value any is tolerated, without an effect all are.
func (t *tolerations) Set(text string) error {
	rest, effect, hasEffect := strings.Cut(text, ":")
	key, value, hasValue := strings.Cut(rest, "=")
	one := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if hasValue {
		one.Operator, one.Value = corev1.TolerationOpEqual, value
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("want key[=value][:effect], but %q is no key: %s", key, problems[0])
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("want key[=value][:effect], but %q is no value: %s", value, problems[0])
	}
	switch one.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
	default:
		if hasEffect {
			return fmt.Errorf("effect %q is none of NoSchedule, NoExecute and PreferNoSchedule", effect)
		}
	}
	*t.all, t.texts = append(*t.all, one), append(t.texts, text)
	return nil
}

// Type is what help calls a value.
func (t *tolerations) Type() string { return "toleration" }

// String has the tolerations as they are given, separated by commas.
func (t *tolerations) String() string { return strings.Join(t.texts, ",") }
