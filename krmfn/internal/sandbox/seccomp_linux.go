// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	bpfseccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// systemCalls returns seccomp filters. They allow the system calls that Docker's default profile allows for a container without
// capabilities, with two exceptions. Sockets must be Unix or internet sockets, because some others (vsock) are not confined by network
// namespaces. Memory that no rlimit covers is refused.
//
// A system call whose arguments matter has a separate filter that refuses some arguments. If it shared a filter with others, the
// assembler would compare arguments with the numbers of system calls.
func systemCalls() ([][]byte, error) {
	profile, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		return nil, err
	}
	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	known := func(name string) bool { _, ok := machine.SyscallNames[name]; return ok }
	var always []string
	arguments := map[string][]specs.LinuxSeccompArg{}
	policies := make([]bpfseccomp.Policy, 1)
	for _, call := range profile.Syscalls {
		names := slices.DeleteFunc(slices.Clone(call.Names), func(name string) bool { return !known(name) })
		switch {
		case call.Action == specs.ActErrno && call.ErrnoRet != nil && len(call.Args) == 0 && len(names) > 0:
			policies = append(policies, refuse(names, nil, *call.ErrnoRet))
			// The first filter must allow these, so that this policy's filter determines the error.
			always = append(always, names...)
		case call.Action == specs.ActAllow && len(call.Args) == 0:
			always = append(always, names...)
		case call.Action == specs.ActAllow && len(call.Args) == 1:
			for _, name := range names {
				arguments[name] = append(arguments[name], call.Args[0])
			}
		case len(names) > 0:
			return nil, fmt.Errorf("the profile has an unsupported rule for %s", strings.Join(names, ", "))
		}
	}
	arguments["socket"] = sockets()
	always = slices.DeleteFunc(always, func(name string) bool { return name == "socket" })
	for name, allowed := range arguments {
		if slices.Contains(always, name) {
			continue
		}
		conditions, err := otherThan(allowed)
		if err != nil {
			return nil, fmt.Errorf("the profile's rule for %s: %w", name, err)
		}
		policies = append(policies, refuse([]string{name}, conditions, uint(unix.EPERM)))
	}
	for name := range arguments {
		always = append(always, name)
	}
	slices.Sort(always)
	policies[0] = bpfseccomp.Policy{
		DefaultAction: bpfseccomp.ActionErrno,
		Syscalls:      []bpfseccomp.SyscallGroup{{Names: slices.Compact(always), Action: bpfseccomp.ActionAllow}},
	}
	return assemble(append(policies, uncountedMemory(known)...))
}

// uncountedMemory returns policies that refuse memory outside RLIMIT_DATA: shared memory without a file in /tmp or /dev/shm, and
// mappings that grow like a stack. The errors look to programs as if the kernel lacked the system call, or as if memory were exhausted.
// Landlock covers mappings of /dev/zero, and RLIMIT_STACK covers the stack.
func uncountedMemory(known func(name string) bool) []bpfseccomp.Policy {
	flags := func(flags ...uint64) (all bpfseccomp.ArgumentConditions) {
		for _, flag := range flags {
			all = append(all, bpfseccomp.Condition{Argument: 3, Operation: bpfseccomp.BitsSet, Value: flag})
		}
		return all
	}
	names := slices.DeleteFunc([]string{"memfd_create", "memfd_secret", "shmget"}, func(name string) bool { return !known(name) })
	return []bpfseccomp.Policy{
		refuse(names, nil, uint(unix.ENOSYS)),
		refuse([]string{"mmap"}, flags(unix.MAP_SHARED, unix.MAP_ANONYMOUS), uint(unix.ENOMEM)),
		refuse([]string{"mmap"}, flags(unix.MAP_GROWSDOWN), uint(unix.ENOMEM)),
	}
}

func sockets() []specs.LinuxSeccompArg {
	domain := func(value uint64) specs.LinuxSeccompArg {
		return specs.LinuxSeccompArg{Value: value, Op: specs.OpEqualTo}
	}
	return []specs.LinuxSeccompArg{domain(unix.AF_UNIX), domain(unix.AF_INET), domain(unix.AF_INET6), domain(unix.AF_NETLINK)}
}

// refuse returns a policy that refuses system calls. If there are conditions, it refuses only calls for which all of them hold.
func refuse(names []string, conditions bpfseccomp.ArgumentConditions, errno uint) bpfseccomp.Policy {
	group := bpfseccomp.SyscallGroup{Action: bpfseccomp.ActionErrno | bpfseccomp.Action(errno)} //nolint:gosec // error numbers are small
	if conditions == nil {
		group.Names = names
	}
	for _, name := range names[:min(len(names), len(conditions))] {
		group.NamesWithCondtions = append(group.NamesWithCondtions, bpfseccomp.NameWithConditions{Name: name, Conditions: conditions})
	}
	return bpfseccomp.Policy{DefaultAction: bpfseccomp.ActionAllow, Syscalls: []bpfseccomp.SyscallGroup{group}}
}

// otherThan returns conditions that are all true for arguments that none of the rules allows.
func otherThan(rules []specs.LinuxSeccompArg) (bpfseccomp.ArgumentConditions, error) {
	var conditions bpfseccomp.ArgumentConditions
	for _, rule := range rules {
		c := bpfseccomp.Condition{Argument: uint32(rule.Index), Value: rule.Value} //nolint:gosec // up to 5
		switch {
		case rule.Op == specs.OpEqualTo:
			c.Operation = bpfseccomp.NotEqual
		case rule.Op == specs.OpNotEqual:
			c.Operation = bpfseccomp.Equal
		case rule.Op == specs.OpMaskedEqual && rule.ValueTwo == 0:
			c.Operation = bpfseccomp.BitsSet
		default:
			return nil, errors.New("unsupported comparison")
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

// assemble returns the policies as BPF programs for the kernel.
func assemble(policies []bpfseccomp.Policy) ([][]byte, error) {
	programs := make([][]byte, 0, len(policies))
	for _, p := range policies {
		instructions, err := p.Assemble()
		if err != nil {
			return nil, err
		}
		raw, err := bpf.Assemble(instructions)
		if err != nil {
			return nil, err
		}
		var program []byte
		for _, i := range raw {
			program = binary.NativeEndian.AppendUint16(program, i.Op)
			program = append(program, i.Jt, i.Jf)
			program = binary.NativeEndian.AppendUint32(program, i.K)
		}
		programs = append(programs, program)
	}
	return programs, nil
}
