// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"errors"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	readAccess = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir
	// fileAccess contains the access rights that a rule for a file may have.
	fileAccess = landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
)

// restrict uses Landlock, if the kernel has it, as a second protection of file access besides the mounts, and against signals and
// abstract sockets to processes outside. It restricts only this thread, which becomes the function. go-landlock's configurations
// restrict all threads; on busy CPUs, that would take longer than the rest of the setup.
func restrict() error {
	version, err := landlock.LandlockGetABIVersion()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) || version < 1 {
		return nil
	}
	access, scoped := handled(version)
	ruleset, err := landlock.LandlockCreateRuleset(&landlock.RulesetAttr{HandledAccessFS: access, Scoped: scoped}, 0)
	if err != nil {
		return err
	}
	defer closeFile(ruleset)
	allowed := map[string]uint64{"/": readAccess, "/tmp": access, "/dev/shm": access}
	for _, device := range Devices {
		allowed[device] = fileAccess
	}
	// A writable mapping of /dev/zero is shared memory, which no limit covers.
	allowed["/dev/zero"] = readAccess & fileAccess
	for path, rights := range allowed {
		if err := allow(ruleset, path, rights&access); err != nil {
			return err
		}
	}
	return landlock.LandlockRestrictSelf(ruleset, 0)
}

// handled returns the access rights and scopes that a Landlock version can restrict.
func handled(version int) (access, scoped uint64) {
	access = 1<<13 - 1
	switch {
	case version >= 5:
		access = 1<<16 - 1
	case version >= 3:
		access = 1<<15 - 1
	case version >= 2:
		access = 1<<14 - 1
	}
	if version >= 6 {
		scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	return access, scoped
}

func allow(ruleset int, path string, rights uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer closeFile(at)
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: at}, 0)
}
