// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// protect prevents the function, which runs as the same user, from reading this process's environment, memory and connections.
func protect() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
