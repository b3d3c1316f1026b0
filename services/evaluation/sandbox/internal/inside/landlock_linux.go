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
	// fileAccess is what rules for files may allow.
	fileAccess = landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
)

// restrict has landlock, in kernels that have it, guard again what the mounts guard, and keep the function's processes from those
// outside. It binds this thread alone, which becomes the function: to stop all threads, as go-landlock's own configurations do, takes
// longer than all else of a sandbox when processors are busy.
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
	// Memory that is mapped from it for writing is shared memory, which no limit covers.
	allowed["/dev/zero"] = readAccess & fileAccess
	for path, rights := range allowed {
		if err := allow(ruleset, path, rights&access); err != nil {
			return err
		}
	}
	return landlock.LandlockRestrictSelf(ruleset, 0)
}

// handled is what a version of landlock can guard of the file system, and which scopes it has.
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
