// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// init runs the first process, because main would run only after all packages have been initialised. No other program has these
// arguments and PID 1.
func init() {
	if len(os.Args) == 3 && os.Args[1] == Name && os.Getpid() == 1 {
		os.Exit(run(os.Args[2]))
	}
}

// run sets up the sandbox and executes the function. It returns an exit code if that fails.
func run(config string) int {
	// Capabilities and filters are per thread. They must be set on the thread that executes the function.
	runtime.LockOSThread()
	var c Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return refused(fmt.Errorf("read the configuration: %w", err))
	}
	if err := c.enclose(); err != nil {
		return refused(err)
	}
	program, err := c.program()
	if err == nil {
		err = c.renounce()
		if err != nil {
			return refused(err)
		}
		if c.Check {
			return 0
		}
		err = syscall.Exec(program, c.Argv, c.Env)
	}
	fmt.Fprintf(os.Stderr, "start the image's command %q: %v\n", c.Argv[0], err)
	if errors.Is(err, fs.ErrNotExist) {
		return ExitNotFound
	}
	return ExitNotExecutable
}

func refused(err error) int {
	fmt.Fprintf(os.Stderr, "%s%v\n", Refused, err)
	return ExitRefused
}

// enclose sets up the process's new namespaces as a sandbox.
func (c *Config) enclose() error {
	// If memory runs out, the kernel kills functions first.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	if err := unix.Sethostname([]byte("function")); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := c.mount(); err != nil {
		return err
	}
	return loopback()
}

// program looks up the function's program as a shell would.
func (c *Config) program() (string, error) {
	if err := os.Chdir(c.Dir); err != nil {
		return "", fmt.Errorf("change to the working directory: %w", err)
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, kv := range c.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for dir := range strings.SplitSeq(path, ":") {
			at := dir + "/" + name
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return at, nil
			}
		}
	}
	return "", &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
}

// renounce drops everything that the function must not have. Afterwards, the process can only execute the function.
func (c *Config) renounce() error {
	// The parent may have left files open.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close files: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := restrict(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// The kernel clears the setting when the user or capabilities change, so set it after that.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent death signal: %w", err)
	}
	for _, f := range c.Filters {
		program := unix.SockFprog{
			Len:    uint16(len(f) / int(unsafe.Sizeof(unix.SockFilter{}))),  //nolint:gosec // the kernel takes 4096 at most
			Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(f))), //nolint:gosec // the bytes are an array of that type
		}
		at := uintptr(unsafe.Pointer(&program)) //nolint:gosec // prctl takes addresses as integers
		err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, at, 0, 0)
		runtime.KeepAlive(&program)
		if err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	// Set limits last: this process may exceed them already, and the runtime would then crash when it starts a thread.
	for resource, limit := range c.Limits {
		if err := lower(resource, limit); err != nil {
			return fmt.Errorf("set resource limit %d: %w", resource, err)
		}
	}
	return nil
}

// lower sets a resource limit unless it is lower already. It uses raw system calls, which never make the runtime start a thread.
func lower(resource int, limit uint64) error {
	var now unix.Rlimit
	if err := prlimit(resource, nil, &now); err != nil {
		return err
	}
	limit = min(limit, now.Max)
	return prlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}, nil)
}

func prlimit(resource int, next, old *unix.Rlimit) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(next)), uintptr(unsafe.Pointer(old)), 0, 0) //nolint:gosec // a system call's arguments are numbers
	if errno != 0 {
		return errno
	}
	return nil
}

// dropCapabilities drops all capabilities, so that neither the root user nor a program's file can restore them.
func dropCapabilities() error {
	for capability := range uintptr(64) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return err
		}
	}
	const bits = 0b101111 // NOROOT and NO_SETUID_FIXUP are set; these and KEEP_CAPS are locked
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, bits, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// loopback brings up the loopback interface, over which the function's processes can communicate.
func loopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	defer closeFile(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("set up the loopback interface: %w", err)
	}
	return nil
}
