// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/functionconfigs"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
)

// configs provides the settings in FunctionConfig objects; see functionconfigs.Follower.
type configs interface {
	Pods(reference string) functionconfig.Settings
	Recheck()
	Tried() <-chan struct{}
}

// follow sets up the follower of FunctionConfig objects, unless it is disabled.
func (p *Pods) follow(config *rest.Config, cluster *client.Cluster) error {
	o := &p.config.Options
	if o.Pod.FunctionConfigs == options.FunctionConfigsOff {
		return nil
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for FunctionConfig objects: %w", err)
	}
	rules := functionconfigs.Rules{
		DefaultPrefix: o.DefaultImagePrefix, Reference: o.Reference,
		InitContainer: func() bool { return p.templates.Current().HasInitContainer() },
	}
	if o.Enabled(options.RuntimeExec) {
		rules.Executable = func(name string) (string, error) { return exec.FindExecutable(o.Exec.Functions, name) }
	}
	follower := functionconfigs.New(functionconfigs.Config{
		Rules: rules, Client: objects.Resource(functionconfig.Resource).Namespace(o.Pod.Namespace), Namespace: o.Pod.Namespace, Reloaded: p.reloaded("function_configs"), Log: p.config.Log,
		Served: func(ctx context.Context) (bool, error) {
			return functionconfigs.Served(ctx, cluster)
		},
		Functions: func(functions []exec.Executable) {
			if p.configure != nil {
				p.configure(functions)
			}
		},
		PodsChanged: func() { p.manager.Changed() },
		Warm: func(references []string) {
			if o.Pod.WarmUp {
				p.warmer.Want(references)
			}
		},
	})
	p.configs = follower
	p.background = append(p.background, follower.Run)
	return nil
}

// Configure sets the function that gets all executables of FunctionConfig objects after each change. Call it before Run.
func (p *Pods) Configure(put func([]exec.Executable)) { p.configure = put }

// configured returns the settings of a function's pods from FunctionConfig objects.
func (p *Pods) configured(reference string) functionconfig.Settings {
	if p.configs == nil {
		return functionconfig.Settings{}
	}
	return p.configs.Pods(reference)
}

// deterministic reports whether a function is deterministic, and whether this is known. An object's annotation overrides the image's
// label. It does not wait for a registry.
func (p *Pods) deterministic(reference, digest string) (deterministic, known bool) {
	declared := p.configured(reference).Declared
	var image registry.Image
	if _, known = declared[traits.DeterministicLabel]; !known {
		image, known = p.images.Known(reference, digest)
	}
	t, _ := traits.Parse(image.Traits, declared)
	return t.Deterministic, known
}

// templateChanged applies a changed template.
func (p *Pods) templateChanged() {
	p.manager.Changed()
	if p.configs != nil {
		p.configs.Recheck()
	}
}

// wrapperDefault is the default concurrency of a wrapper server. The flag is omitted for this value, because Porch's wrapper server does
// not support it.
const wrapperDefault = 8

// limits returns the limits of a function. The function's own settings precede those of a FunctionConfig object, which precede the flags.
func (p *Pods) limits(reference string) podmanager.Limits {
	s, object, o := p.settings.For(reference), p.configured(reference), p.config.Options.Pod
	c := pool.Config{
		MaxPods:    cmp.Or(s.MaxPods, object.MaxPods, o.MaxPods),
		MinPods:    s.MinPods,
		Waitlist:   cmp.Or(s.Waitlist, object.Waitlist, o.MaxWaitlist),
		PerPod:     o.MaxPerPod,
		MaxWaiting: o.MaxWaiting,
		TTL:        cmp.Or(s.TTL.Duration, object.TTL, o.TTL),
	}
	c.MaxPods = max(c.MaxPods, c.MinPods)
	return podmanager.Limits{Config: c, Overrides: object.Overrides, Declared: object.Declared, Patches: p.patches.For(reference), Resources: s.Resources}
}

func wrapperConcurrency(perPod int) int {
	if perPod == wrapperDefault {
		return 0
	}
	return perPod
}

// wrapperStandby returns the number of standby processes for wrapper servers, or nil for their default.
func wrapperStandby(processes int) *int {
	if processes == options.DefaultStandbyProcesses {
		return nil
	}
	return &processes
}
