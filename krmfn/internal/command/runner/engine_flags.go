// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/krmfn/internal/engine"
)

// container has the settings of containers, from kpt's flags.
type container struct {
	network, currentUser bool
	// env are KEY=value, or a KEY of the command's environment.
	env    []string
	mounts mountList
	// policy is when images are pulled.
	policy pullPolicy
	// networkFlag is the name of the flag for network, which differs between commands.
	networkFlag string
}

// AddContainerFlags adds the flags by which kpt tells a container engine how to run functions. name is the flag that lets functions use
// the network.
func (f *Flags) AddContainerFlags(set *pflag.FlagSet, name string) {
	f.networkFlag, f.policy.value = name, "IfNotPresent"
	set.Var(&f.policy, "image-pull-policy", "when to pull images: Always, IfNotPresent or Never")
	set.BoolVar(&f.network, name, false, "give functions in containers access to this machine's network, which requires a container engine, and let kubeconform fetch schemas")
	set.VarPF(noWasm{}, "allow-alpha-wasm", "", "").NoOptDefVal = "true"
	_ = set.MarkHidden("allow-alpha-wasm")
}

// AddMachineFlags adds the flags that give a function more of this machine.
func (f *Flags) AddMachineFlags(set *pflag.FlagSet) {
	set.StringArrayVarP(&f.env, "env", "e", nil, "environment variable for the function, as KEY=VALUE, or KEY to pass on your own value; may be repeated")
	set.Var(&f.mounts, "mount", "mount for the function, as type=bind,src=PATH,dst=PATH, read-only unless rw=true; may be repeated; requires a container engine")
	set.BoolVar(&f.currentUser, "as-current-user", false, "run the function in its container as your user instead of nobody; requires a container engine")
}

// ForContainers reports whether a flag is set that only functions in containers support.
func (f *Flags) ForContainers() bool {
	return len(f.mounts)+len(f.env) > 0 || f.currentUser || f.network
}

// beyond returns the flags that are set and that a runtime cannot do.
func (f *Flags) beyond(name string) []string {
	all := []struct {
		flag   string
		set    bool
		beyond []string
	}{
		{"--mount", len(f.mounts) > 0, []string{builtinRuntime, remoteRuntime, sandboxRuntime}},
		{"--" + f.networkFlag, f.network, []string{remoteRuntime, sandboxRuntime}},
		{"--as-current-user", f.currentUser, []string{remoteRuntime, sandboxRuntime}},
		{"--env", len(f.env) > 0, []string{remoteRuntime}},
		{"--image-pull-policy", f.policy.set, []string{remoteRuntime}},
	}
	var flags []string
	for _, one := range all {
		for _, runtime := range one.beyond {
			if one.set && runtime == name {
				flags = append(flags, one.flag)
			}
		}
	}
	return flags
}

// environment returns the environment variables that functions get, KEY=value each.
func (c *container) environment(environ []string) []string {
	var list []string
	for _, kv := range c.env {
		if strings.Contains(kv, "=") {
			list = append(list, kv)
			continue
		}
		value, found := "", false
		for _, own := range environ {
			if v, ok := strings.CutPrefix(own, kv+"="); ok {
				value, found = v, true
			}
		}
		if found {
			list = append(list, kv+"="+value)
		}
	}
	return list
}

// mountList is the value of --mount.
type mountList []engine.Mount

func (l *mountList) String() string {
	texts := make([]string, 0, len(*l))
	for _, m := range *l {
		texts = append(texts, m.String())
	}
	return strings.Join(texts, " ")
}

// Type returns what stands for the value in the help.
func (*mountList) Type() string { return "stringArray" }

// Set adds a mount. Its source is relative to the working directory.
func (l *mountList) Set(value string) error {
	m, err := engine.ParseMount(value)
	if err != nil {
		return err
	}
	if m.Type == "bind" {
		if m.Source, err = filepath.Abs(m.Source); err != nil {
			return fmt.Errorf("find the directory %s: %w", m.Source, err)
		}
		if strings.ContainsAny(m.Source, ",\"") {
			return fmt.Errorf("--mount cannot have the path %s, as a comma or a quotation mark in it means something else to container engines", m.Source)
		}
	}
	*l = append(*l, m)
	return nil
}

// noWasm is the value of --allow-alpha-wasm, which makes kpt run every image as WebAssembly: it can only be false.
type noWasm struct{}

func (noWasm) String() string { return "false" }

// Type returns what stands for the value in the help.
func (noWasm) Type() string { return "bool" }

// Set refuses all but false.
func (noWasm) Set(value string) error {
	if allowed, err := strconv.ParseBool(value); err != nil || allowed {
		return errors.New("krmfn does not support WebAssembly functions: leave out the flag")
	}
	return nil
}

// PullPolicies are the values of --image-pull-policy.
func PullPolicies() []string { return []string{"Always", "IfNotPresent", "Never"} }

// pullPolicy is the value of --image-pull-policy, which is checked as kpt does.
type pullPolicy struct {
	value string
	// set says that a flag has set it.
	set bool
}

func (p *pullPolicy) String() string { return p.value }

// Type returns what stands for the value in the help.
func (p *pullPolicy) Type() string { return "string" }

// Set takes one of the three policies, in any case.
func (p *pullPolicy) Set(value string) error {
	for _, policy := range PullPolicies() {
		if strings.EqualFold(policy, value) {
			*p = pullPolicy{policy, true}
			return nil
		}
	}
	return errors.New("must be one of: " + strings.Join(PullPolicies(), ", "))
}
