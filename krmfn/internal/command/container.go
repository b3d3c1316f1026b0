// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// pullPolicy is the value of --image-pull-policy. When an image is pulled is the function runner's to decide; the flag is
// there for what calls kpt with it, and is checked as kpt does.
type pullPolicy string

func (p *pullPolicy) String() string { return string(*p) }

// Type returns what stands for the value in the help.
func (p *pullPolicy) Type() string { return "string" }

// Set takes one of the three policies, in any case.
func (p *pullPolicy) Set(value string) error {
	for _, policy := range []string{"Always", "IfNotPresent", "Never"} {
		if strings.EqualFold(policy, value) {
			*p = pullPolicy(policy)
			return nil
		}
	}
	return errors.New("must be one of: Always, IfNotPresent, Never")
}

// addContainerFlags adds the flags by which kpt tells a container engine how to run functions. They have no effect:
// functions are isolated as the function runner does it. name is that of the one that lets them use the network.
func addContainerFlags(flags *pflag.FlagSet, network *bool, name string) {
	policy := pullPolicy("IfNotPresent")
	flags.Var(&policy, "image-pull-policy", "Always, IfNotPresent or Never; without effect, as the function runner pulls images")
	flags.BoolVar(network, name, false, "accepted for kpt's sake; without effect, as the function runner decides what functions may reach")
}
