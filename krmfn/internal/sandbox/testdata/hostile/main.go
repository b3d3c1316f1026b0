// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command hostile is the function in the sandbox's tests: it tries what a function must not be able to do, and prints the results.
package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	attempts := map[string]func(args []string){
		"echo": echo, "identity": identity, "read": read, "write": write, "dial": dial, "fork": fork, "stay": stay, "fill": fill,
		"memory": memory, "bomb": bomb, "syscalls": syscalls, "files": files, "sleep": func([]string) { time.Sleep(time.Hour) },
		"list": list, "claim": claim, "shared": shared,
	}
	attempts[os.Args[1]](os.Args[2:])
}

// claim prints the message and exits with the code of a sandbox that the kernel refuses.
func claim([]string) {
	fmt.Fprintln(os.Stderr, "sandbox refused: mount: operation not permitted")
	os.Exit(125)
}

func list([]string) {
	in, _ := io.ReadAll(os.Stdin)
	_, _ = os.Stdout.Write(in)
}

func echo([]string) {
	in, _ := io.ReadAll(os.Stdin)
	dir, _ := os.Getwd()
	fmt.Printf("%s %s %s HOME=%s TMPDIR=%s\n", in, dir, os.Getenv("GREETING"), os.Getenv("HOME"), os.Getenv("TMPDIR"))
}

func identity([]string) {
	host, _ := os.Hostname()
	fmt.Println("pid", os.Getpid(), "uid", os.Getuid(), "gid", os.Getgid(), "host", host)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp":
			fmt.Println(name, strings.TrimSpace(value))
		}
	}
}

// read tries to read the paths in args, and searches all files for the secret.
func read(args []string) {
	for _, path := range args {
		if content, err := os.ReadFile(path); err == nil {
			fmt.Printf("READ %s %s\n", path, content)
		}
	}
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if strings.HasPrefix(path, "/proc/") && d.IsDir() {
			return fs.SkipDir
		}
		// A mounted file may have another type than its directory entry says.
		if info, failed := os.Lstat(path); err == nil && failed == nil && info.Mode().IsRegular() {
			if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte("TOP"+"SECRET")) {
				fmt.Println("FOUND", path)
			}
		}
		return nil
	})
	// Try the root directories of other processes, and list files that were open when this process started.
	dirs, _ := filepath.Glob("/proc/[0-9]*/root")
	for _, dir := range dirs {
		for _, path := range args {
			if _, err := os.Stat(dir + path); err == nil {
				fmt.Println("FOUND", dir+path)
			}
		}
	}
	open, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range open {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(target, "/") && target != "/proc/self/fd" && !strings.HasPrefix(target, "/proc/") {
			fmt.Println("OPEN", target)
		}
	}
}

func write(args []string) {
	for _, path := range args {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = f.Close()
		}
		fmt.Println(path, err == nil)
	}
}

func dial(args []string) {
	for _, address := range args {
		network, address, _ := strings.Cut(address, "!")
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			_ = c.Close()
			fmt.Println("CONNECTED", address)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println("loopback", err == nil)
	if err == nil {
		_ = l.Close()
	}
}

// fork starts processes in separate sessions and leaves them running.
func fork([]string) {
	for range 3 {
		c := exec.Command("/fn", "stay")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		fmt.Println("started", c.Start() == nil)
	}
}

func stay([]string) { time.Sleep(time.Hour) }

func fill([]string) {
	block := make([]byte, 1<<20)
	for i := range 100 {
		f, err := os.Create("/tmp/" + strconv.Itoa(i))
		if err != nil {
			fmt.Println("full")
			return
		}
		if _, err := f.Write(block); err != nil {
			fmt.Println("full")
			return
		}
		_ = f.Close()
	}
	fmt.Println("NOT FULL")
}

func memory([]string) {
	debug.SetGCPercent(-1)
	var all [][]byte
	for range 1 << 12 {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		all = append(all, block)
	}
	fmt.Println("NOT BOUNDED", len(all))
}

func bomb([]string) {
	for range 2000 {
		if exec.Command("/fn", "stay").Start() != nil {
			fmt.Println("bounded")
			return
		}
	}
	fmt.Println("NOT BOUNDED")
}

// files tries to open its own program for writing, by each path.
func files([]string) {
	for _, path := range []string{"/fn", "/proc/self/exe", "/proc/1/exe"} {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			fmt.Println("WRITABLE", path)
			_ = f.Close()
		}
	}
}
