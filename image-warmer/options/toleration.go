// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// tolerations is the value of --toleration: all tolerations, and their texts.
type tolerations struct {
	all   *[]corev1.Toleration
	texts []string
}

// Set adds one toleration: key[=value][:effect]. Without a value, it tolerates all values; without an effect, all effects.
func (t *tolerations) Set(text string) error {
	rest, effect, hasEffect := strings.Cut(text, ":")
	key, value, hasValue := strings.Cut(rest, "=")
	one := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if hasValue {
		one.Operator, one.Value = corev1.TolerationOpEqual, value
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return fmt.Errorf("want key[=value][:effect], but the key %q is invalid: %s", key, problems[0])
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("want key[=value][:effect], but the value %q is invalid: %s", value, problems[0])
	}
	switch one.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule:
	default:
		if hasEffect {
			return fmt.Errorf("effect is %q, want NoSchedule, NoExecute or PreferNoSchedule", effect)
		}
	}
	*t.all, t.texts = append(*t.all, one), append(t.texts, text)
	return nil
}

// Type returns the name of the value in the help text.
func (t *tolerations) Type() string { return "toleration" }

// String returns the given texts, separated by commas.
func (t *tolerations) String() string { return strings.Join(t.texts, ",") }
