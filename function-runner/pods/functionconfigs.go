// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/functionconfig"
	"github.com/krmfn/krmfn/function-runner/options"
)

// configs are what FunctionConfig objects say; see functionconfig.Follower.
type configs interface {
	Pods(reference string) functionconfig.Settings
	Recheck()
	Tried() <-chan struct{}
}

// follow has the FunctionConfig objects of the cluster be followed, unless that is off.
func (p *Pods) follow(config *rest.Config, clientset kubernetes.Interface) error {
	o := &p.config.Options
	if o.Pod.FunctionConfigs == options.FunctionConfigsOff {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client for FunctionConfig objects: %w", err)
	}
	rules := functionconfig.Rules{
		DefaultPrefix: o.DefaultImagePrefix, Reference: o.Reference,
		InitContainer: func() bool { return p.templates.Current().HasInitContainer() },
	}
	if o.Enabled(options.RuntimeExec) {
		rules.Executable = func(name string) (string, error) { return exec.FindExecutable(o.Exec.Functions, name) }
	}
	follower := functionconfig.New(functionconfig.Config{
		Rules: rules, Client: client, Namespace: o.Pod.Namespace, Log: p.config.Log,
		Served: func(ctx context.Context) (bool, error) {
			return functionconfig.Served(ctx, clientset.Discovery().RESTClient())
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

// Configure has put called with the functions that have executables because objects of the cluster say so, all of them after
// each change. It comes before Run.
func (p *Pods) Configure(put func([]exec.Executable)) { p.configure = put }

// configured returns what an object says of a function's pods.
func (p *Pods) configured(reference string) functionconfig.Settings {
	if p.configs == nil {
		return functionconfig.Settings{}
	}
	return p.configs.Pods(reference)
}

// templateChanged has a changed template take effect.
func (p *Pods) templateChanged() {
	p.manager.Changed()
	if p.configs != nil {
		p.configs.Recheck()
	}
}
