// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// syscalls makes system calls that could lead out of the sandbox, and prints those that are not refused as expected.
func syscalls([]string) {
	dir, _ := syscall.BytePtrFromString("/tmp")
	tmpfs, _ := syscall.BytePtrFromString("tmpfs")
	device, _ := syscall.BytePtrFromString("/tmp/device")
	d, f := uintptr(unsafe.Pointer(dir)), uintptr(unsafe.Pointer(tmpfs))
	for _, c := range []struct {
		name       string
		number     uintptr
		a, b, c, d uintptr
	}{
		{"mount", syscall.SYS_MOUNT, f, d, f, 0},
		{"umount2", syscall.SYS_UMOUNT2, d, 2, 0, 0},
		{"unshare user", syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0, 0},
		{"unshare mount", syscall.SYS_UNSHARE, syscall.CLONE_NEWNS, 0, 0, 0},
		{"clone user", syscall.SYS_CLONE, syscall.CLONE_NEWUSER | uintptr(syscall.SIGCHLD), 0, 0, 0},
		{"chroot", syscall.SYS_CHROOT, d, 0, 0, 0},
		{"keyctl", syscall.SYS_KEYCTL, 0, ^uintptr(2), 0, 0},
		{"mknod", syscall.SYS_MKNODAT, ^uintptr(99), uintptr(unsafe.Pointer(device)), syscall.S_IFBLK, 1},
		{"sethostname", syscall.SYS_SETHOSTNAME, d, 1, 0, 0},
		{"vsock", syscall.SYS_SOCKET, 40, syscall.SOCK_STREAM, 0, 0},
		{"packet", syscall.SYS_SOCKET, syscall.AF_PACKET, syscall.SOCK_RAW, 0, 0},
		{"raw", syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_RAW, 1, 0},
		{"alg", syscall.SYS_SOCKET, 38, syscall.SOCK_SEQPACKET, 0, 0},
		{"setuid", syscall.SYS_SETUID, 4242, 0, 0, 0},
		{"bpf", 321, 0, 0, 0, 0},
		{"io_uring_setup", 425, 1, 0, 0, 0},
		{"open_tree", 428, ^uintptr(99), d, 1, 0},
		{"clone3 is unavailable", 435, 0, 0, 0, 0},
	} {
		pid, _, errno := syscall.RawSyscall6(c.number, c.a, c.b, c.c, c.d, 0, 0)
		if c.number == syscall.SYS_CLONE && errno == 0 && pid == 0 {
			os.Exit(0)
		}
		want := syscall.EPERM
		switch c.number {
		case 435:
			want = syscall.ENOSYS
		case syscall.SYS_SETUID:
			// The user namespace contains no other user.
			want = syscall.EINVAL
		}
		if errno != want {
			fmt.Println("PASSED", c.name, errno)
		}
	}
}
