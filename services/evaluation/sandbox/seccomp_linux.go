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

// systemCalls returns filters that let those system calls pass which Docker's default profile lets pass to a container without
// capabilities, but for sockets other than Unix and internet ones, as some of these (vsock) lead out of network namespaces, and but for
// memory that no limit of a process covers.
//
// A system call whose arguments count has a filter of its own that refuses the arguments: in one program with others, the assembler
// would compare these with the numbers of system calls.
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
			// It passes the first filter to be refused by this one, for this one's reason.
			always = append(always, names...)
		case call.Action == specs.ActAllow && len(call.Args) == 0:
			always = append(always, names...)
		case call.Action == specs.ActAllow && len(call.Args) == 1:
			for _, name := range names {
				arguments[name] = append(arguments[name], call.Args[0])
			}
		case len(names) > 0:
			return nil, fmt.Errorf("the profile has a rule for %s that is not understood", strings.Join(names, ", "))
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

// uncountedMemory returns policies that refuse memory which RLIMIT_DATA does not count: memory that is shared without a file in /tmp or
// /dev/shm, whose size is limited, and mappings that grow like a stack. Programs take the errors for those of a kernel that lacks the
// system call, or memory. Landlock covers /dev/zero, which can be mapped, too, and RLIMIT_STACK the stack itself.
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

// refuse returns a policy that refuses system calls, with conditions only where all of them hold.
func refuse(names []string, conditions bpfseccomp.ArgumentConditions, errno uint) bpfseccomp.Policy {
	group := bpfseccomp.SyscallGroup{Action: bpfseccomp.ActionErrno | bpfseccomp.Action(errno)} //nolint:gosec // numbers of errors are small
	if conditions == nil {
		group.Names = names
	}
	for _, name := range names[:min(len(names), len(conditions))] {
		group.NamesWithCondtions = append(group.NamesWithCondtions, bpfseccomp.NameWithConditions{Name: name, Conditions: conditions})
	}
	return bpfseccomp.Policy{DefaultAction: bpfseccomp.ActionAllow, Syscalls: []bpfseccomp.SyscallGroup{group}}
}

// otherThan returns conditions that hold together for the arguments that none of the rules allows.
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
			return nil, errors.New("its comparison is not understood")
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

// assemble returns the programs that the kernel takes.
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
