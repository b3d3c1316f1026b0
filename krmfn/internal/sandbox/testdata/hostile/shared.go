// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	block = 32 << 20
	// blocks times block exceeds the memory limit that the test sets.
	blocks = 16
)

// shared allocates memory that is not private, in several ways, and prints the ways that have no limit. The last line says whether
// files in memory can be mapped, which programs need.
func shared([]string) {
	const writable = syscall.PROT_READ | syscall.PROT_WRITE
	for name, take := range map[string]func() ([]byte, error){
		"anonymous": func() ([]byte, error) {
			return syscall.Mmap(-1, 0, block, writable, syscall.MAP_SHARED|syscall.MAP_ANON)
		},
		"a growing stack": func() ([]byte, error) {
			return syscall.Mmap(-1, 0, block, writable, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_GROWSDOWN)
		},
		"/dev/zero": func() ([]byte, error) {
			zero, err := os.OpenFile("/dev/zero", os.O_RDWR, 0)
			if err != nil {
				return nil, err
			}
			defer zero.Close()
			return syscall.Mmap(int(zero.Fd()), 0, block, writable, syscall.MAP_SHARED)
		},
		"memfd":        func() ([]byte, error) { return memoryFile(unix.MemfdCreate("", 0)) },
		"memfd_secret": func() ([]byte, error) { return memoryFile(secret()) },
		"System V":     systemV,
	} {
		var all [][]byte
		for range blocks {
			memory, err := take()
			if err != nil {
				break
			}
			for i := 0; i < len(memory); i += 4096 {
				memory[i] = 1
			}
			all = append(all, memory)
		}
		if len(all) == blocks {
			fmt.Println("NOT BOUNDED", name)
		}
		for _, memory := range all {
			_ = syscall.Munmap(memory)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}); err == nil {
		fmt.Println("NOT BOUNDED the stack")
	}
	fmt.Println("file", mapFile("/dev/shm/file") == nil && mapFile("/tmp/file") == nil)
}

func memoryFile(fd int, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // the mapping keeps the memory
	return mapOpen(fd, block)
}

func secret() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_MEMFD_SECRET, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

func mapFile(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	memory, err := mapOpen(int(f.Fd()), 1<<20)
	if err != nil {
		return err
	}
	memory[0] = 1
	return syscall.Munmap(memory)
}

func mapOpen(fd, size int) ([]byte, error) {
	if err := syscall.Ftruncate(fd, int64(size)); err != nil {
		return nil, err
	}
	return syscall.Mmap(fd, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// systemV returns a shared memory segment that is removed after it is unmapped.
func systemV() ([]byte, error) {
	id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, block, 0o1600)
	if errno != 0 {
		return nil, errno
	}
	at, _, errno := syscall.Syscall(syscall.SYS_SHMAT, id, 0, 0)
	_, _, _ = syscall.Syscall(syscall.SYS_SHMCTL, id, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(at)), block), nil //nolint:govet // the address comes from the kernel
}
