// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/krmfn/krmfn/services/cluster/injection"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/server/flags"
)

// The values of --output.
const (
	OutputTable = "table"
	OutputJSON  = "json"
)

// validate names every flag that is wrong.
func (o *Options) validate() error {
	var problems []error
	s := &o.Sources
	if len(s.Images) == 0 && s.PodCacheConfig == "" && !s.FunctionConfigs && len(s.Kptfiles) == 0 {
		problems = append(problems, errors.New("no images are named: give some, or --pod-cache-config, --function-configs or --kptfiles"))
	}
	if o.Registry.TLS && !o.Registry.Private {
		problems = append(problems, errors.New("--enable-private-registries-tls takes effect only with --enable-private-registries"))
	}
	if o.Prepull.Enabled {
		problems = append(problems, o.prepullProblems()...)
	}
	return flags.Check(nil, append(o.rules(), problems...)...)
}

func (o *Options) prepullProblems() []error {
	var problems []error
	p := &o.Prepull
	if p.WrapperImage == "" {
		problems = append(problems, fmt.Errorf("--wrapper-image or the environment variable %s must name the wrapper server's image, or pulls be left out with --prepull=false", wrapperImageVariable))
	} else if err := reference.Validate(p.WrapperImage); err != nil {
		problems = append(problems, fmt.Errorf("--wrapper-image: %w", err))
	}
	if _, err := labels.Parse(p.NodeSelector); err != nil {
		problems = append(problems, fmt.Errorf("--node-selector is %q, want labels such as disk=ssd: %w", p.NodeSelector, err))
	}
	for _, secret := range p.PullSecrets {
		if !isName(secret) {
			problems = append(problems, fmt.Errorf("--image-pull-secret is %q, want the name of a Secret", secret))
		}
	}
	return problems
}

func (o *Options) rules() []error {
	const positive = flags.Positive
	p, m := o.Prepull, o.Metadata
	return []error{
		flags.That(reference.ValidatePrefix(o.DefaultImagePrefix) == nil, "default-image-prefix", o.DefaultImagePrefix, "a registry path without a scheme"),
		flags.That(isLabel(o.Namespace), "namespace", o.Namespace, "the name of a namespace"),
		flags.That(o.Output == OutputTable || o.Output == OutputJSON, "output", o.Output, "table or json"),
		flags.That(o.Log.Level >= 0, "log-level", o.Log.Level, "0 or more"),
		flags.That(o.Log.Format == "json" || o.Log.Format == "text", "log-format", o.Log.Format, "json or text"),
		flags.That(o.Resolve.Parallel > 0, "parallel", o.Resolve.Parallel, positive),
		flags.That(o.Resolve.Timeout > 0, "resolve-timeout", o.Resolve.Timeout, positive),
		flags.That(o.Resolve.Jitter >= 0, "jitter", o.Resolve.Jitter, "0 or more"),
		flags.That(isName(o.Registry.AuthSecret), "registry-auth-secret-name", o.Registry.AuthSecret, "the name of a Secret"),
		flags.That(m.ConfigMap == "" || isName(m.ConfigMap), "metadata-configmap", m.ConfigMap, "the name of a ConfigMap"),
		flags.That(m.Namespace == "" || isLabel(m.Namespace), "metadata-namespace", m.Namespace, "the name of a namespace"),
		flags.That(slices.Contains(injection.Methods, p.Injection), "injection", p.Injection, "one of auto, image-volume, init-container"),
		flags.That(p.MaxParallel > 0, "max-parallel-pulls", p.MaxParallel, positive),
		flags.That(p.MaxPerNode > 0, "max-parallel-pulls-per-node", p.MaxPerNode, positive),
		flags.That(p.Timeout > 0, "pull-timeout", p.Timeout, positive),
	}
}

func isLabel(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }
