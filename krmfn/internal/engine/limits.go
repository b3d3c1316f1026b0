// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"
)

// Limits of a container. The sandbox has the same limits.
const (
	maxMemory    = "4g"
	maxProcesses = "512"
)

// limits returns the flags that limit the memory and the processes of a container, and a warning if some are not supported. Docker and
// nerdctl discard unsupported limits with a warning. Podman would fail: without systemd's delegation, an unprivileged user has no
// cgroup controllers.
func (c Client) limits(ctx context.Context) (flags []string, warning string) {
	has := func(string) bool { return true }
	if c.Name == Podman {
		if text, err := c.output(ctx, "info", "--format", "{{.Host.CgroupControllers}}"); err == nil {
			controllers := strings.Fields(strings.Trim(string(text), "[]\n"))
			has = func(name string) bool { return slices.Contains(controllers, name) }
		}
	}
	var missing []string
	if has("memory") {
		flags = append(flags, "--memory", maxMemory, "--memory-swap", maxMemory)
	} else {
		missing = append(missing, "memory")
	}
	if has("pids") {
		flags = append(flags, "--pids-limit", maxProcesses)
	} else {
		missing = append(missing, "processes")
	}
	if len(missing) > 0 {
		warning = "cannot limit the " + strings.Join(missing, " and ") + " of functions, because systemd has not delegated these cgroup controllers to this user"
	}
	return flags, warning
}
