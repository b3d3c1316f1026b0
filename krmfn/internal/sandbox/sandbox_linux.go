// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox/internal/inside"
)

const refusedPrefix = inside.Refused

// sandbox holds what all sandboxes of an evaluator share.
type sandbox struct {
	// executable is the path of this program.
	executable string
	limits     Limits
	filters    [][]byte
	// uid and gid are the function's IDs outside the sandbox. change is set if they differ from this process's.
	uid, gid int
	change   bool
}

func newSandbox(limits Limits) (*sandbox, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's own file: %w", err)
	}
	filters, err := systemCalls()
	if err != nil {
		return nil, fmt.Errorf("make the filter of system calls: %w", err)
	}
	s := &sandbox{executable: executable, limits: limits, filters: filters, uid: os.Geteuid(), gid: os.Getegid()}
	if s.uid == 0 && mapped("/proc/self/uid_map", nobody) && mapped("/proc/self/gid_map", nobody) {
		s.uid, s.gid, s.change = nobody, nobody, true
	}
	return s, nil
}

// nobody is the user and group outside the sandbox if this process is root. If a function escapes, it must not have access to root's
// files or to kernel settings.
const nobody = 65534

// mapped reports whether the user namespace with the given map contains an ID.
func mapped(file string, id int) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var first, outer, count int
		if _, err := fmt.Sscan(line, &first, &outer, &count); err == nil && id >= first && id-first < count {
			return true
		}
	}
	return false
}

// maxStack is Linux's default stack limit in bytes. RLIMIT_DATA does not include the stack.
const maxStack = 8 << 20

// defaultPath is the PATH if an image sets none. Container engines use the same.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// command returns a command that runs the image's command in a sandbox. If check is set, it only checks whether sandboxes are
// permitted.
func (s *sandbox) command(image unpacked.Image, check bool) (process.Command, error) {
	as, err := userOf(image)
	if err != nil {
		return process.Command{}, err
	}
	config, err := json.Marshal(inside.Config{
		Root: image.Root, Dir: path.Join("/", image.Dir), Argv: image.Command, Env: environment(image.Env),
		UID: as.Uid, GID: as.Gid, DropGroups: s.change, Tmp: s.limits.Tmp, Filters: s.filters, Check: check,
		Limits: map[int]uint64{
			unix.RLIMIT_DATA: uint64(s.limits.Memory), unix.RLIMIT_FSIZE: uint64(s.limits.Tmp), //nolint:gosec // positive
			unix.RLIMIT_NPROC: uint64(s.limits.Processes), unix.RLIMIT_NOFILE: uint64(s.limits.Files), unix.RLIMIT_CORE: 0, //nolint:gosec // positive
			unix.RLIMIT_STACK: maxStack,
		},
	})
	if err != nil {
		return process.Command{}, err
	}
	return process.Command{
		Argv: []string{s.executable, inside.Name, string(config)},
		// This is the environment of the sandbox's first process, not the function's.
		Env: []string{"GOMAXPROCS=1", "GOGC=off"}, NoStandby: check,
		System: func(a *syscall.SysProcAttr) { s.amend(a, as) },
	}, nil
}

// amend configures a process to start in new namespaces, with the user outside, and with the capabilities to set up the sandbox.
func (s *sandbox) amend(a *syscall.SysProcAttr, as *user.ExecUser) {
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: as.Uid, HostID: s.uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: as.Gid, HostID: s.gid, Size: 1}}
	a.GidMappingsEnableSetgroups = s.change
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_NET_ADMIN}
}

// environment adds defaults to an image's environment. HOME and TMPDIR are in /tmp, the only writable place.
func environment(env []string) []string {
	env = slices.Clone(env)
	has := func(key string) bool {
		return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, key) })
	}
	for _, kv := range []string{defaultPath, "HOME=/tmp", "TMPDIR=/tmp"} {
		if key, _, _ := strings.Cut(kv, "="); !has(key + "=") {
			env = append(env, kv)
		}
	}
	return env
}

// userOf looks up the image's user in the image's own files.
func userOf(image unpacked.Image) (*user.ExecUser, error) {
	root, err := os.OpenRoot(image.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	open := func(name string) io.Reader {
		// OpenRoot rejects links that lead out of the image. Such a file counts as empty.
		f, err := root.Open(name)
		if err != nil {
			return strings.NewReader("")
		}
		defer f.Close()
		text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
		return strings.NewReader(string(text))
	}
	as, err := user.GetExecUser(image.User, &user.ExecUser{Home: "/"}, open("etc/passwd"), open("etc/group"))
	if err != nil {
		return nil, fmt.Errorf("the image's user %q is not in its /etc/passwd or /etc/group: %w: set USER to a number", image.User, err)
	}
	return as, nil
}

// refusal returns an error that explains why the kernel refused a part of the sandbox.
func refusal(err error) error { return &RefusedError{Err: err, Hint: hint(err, os.DirFS("/proc"))} }

// hint returns advice, based on the kernel's settings in /proc.
func hint(err error, proc fs.FS) string {
	setting := func(name string) string {
		text, _ := fs.ReadFile(proc, name)
		return strings.TrimSpace(string(text))
	}
	status := setting("self/status")
	switch {
	case setting("sys/user/max_user_namespaces") == "0":
		return "user namespaces are switched off: have root run sysctl -w user.max_user_namespaces=10000"
	case setting("sys/kernel/unprivileged_userns_clone") == "0" && os.Geteuid() != 0:
		return "user namespaces are for root alone: have root run sysctl -w kernel.unprivileged_userns_clone=1"
	case setting("sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && os.Geteuid() != 0:
		return "AppArmor restricts user namespaces: have root run sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or add a profile for this program that allows userns"
	case strings.Contains(err.Error(), "mount_setattr") && strings.Contains(err.Error(), unix.ENOSYS.Error()):
		return "Linux 5.12 or newer is needed"
	case strings.Contains(status, "Seccomp:\t2"):
		return "this process runs under a seccomp profile, as in a container, which must permit user namespaces and mounts: start the container with --security-opt seccomp=unconfined, or the pod with seccompProfile Unconfined, which needs no other privilege, or name a function runner"
	case errors.Is(err, unix.ENOSPC):
		return "too many namespaces are in use: have root raise user.max_user_namespaces and its like"
	}
	return "the kernel, or a security module (AppArmor, SELinux), forbids it: check the kernel's log, or name a function runner"
}
