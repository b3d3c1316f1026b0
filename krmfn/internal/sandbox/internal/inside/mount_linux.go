// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Devices are the devices that functions get. They are mounted on files of these names in the image.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// mount replaces all files that the process can access with the image. The image must have the directories /proc, /tmp and /dev/shm.
func (c *Config) mount() error {
	// Clone the device mounts before their parents are remounted with nodev.
	devices := map[string]int{}
	for _, device := range Devices {
		if tree, err := unix.OpenTree(unix.AT_FDCWD, device, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC); err == nil {
			defer closeFile(tree)
			devices[device] = tree
		}
	}
	// Make all outer mounts read-only. Otherwise, a file of an outer mount that is still in use could be written, such as this
	// process's executable.
	locked := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &locked); err != nil {
		return fmt.Errorf("make mounts read-only: mount_setattr: %w", err)
	}
	outside, err := c.pivot()
	if err != nil {
		return err
	}
	defer closeFile(outside)
	// Change the user only now, because the function's user may have no access to the image's parent directories.
	if err := c.become(); err != nil {
		return err
	}
	if err := c.fill(devices); err != nil {
		return err
	}
	if err := unix.Fchdir(outside); err != nil {
		return fmt.Errorf("leave the outer root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the outer root: umount: %w", err)
	}
	return unix.Chdir("/")
}

// pivot makes the image the root directory. The outer root is mounted over it, and pivot returns its file descriptor.
func (c *Config) pivot() (outside int, err error) {
	outside, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open the outer root: %w", err)
	}
	if err := unix.Mount(c.Root, c.Root, "", unix.MS_BIND, ""); err != nil {
		return 0, fmt.Errorf("mount the image: %w", err)
	}
	if err := unix.Chdir(c.Root); err != nil {
		return 0, fmt.Errorf("enter the image: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return 0, fmt.Errorf("make the image the root: pivot_root: %w", err)
	}
	return outside, nil
}

// become switches to the function's user and group. Only this thread changes, which becomes the function.
func (c *Config) become() error {
	if c.DropGroups {
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			return fmt.Errorf("drop groups: %w", errno)
		}
	}
	uid, gid := uintptr(c.UID), uintptr(c.GID)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return fmt.Errorf("set the group %d: %w", c.GID, errno)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return fmt.Errorf("set the user %d: %w", c.UID, errno)
	}
	return nil
}

// fill mounts /proc, /tmp, /dev/shm and the devices.
func (c *Config) fill(devices map[string]int) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	// In a container with a masked /proc, the kernel refuses to mount a complete one. Most functions do not need it.
	_ = unix.Mount("proc", "/proc", "proc", flags|unix.MS_NOEXEC|unix.MS_RDONLY, "")
	size := "mode=1777,nr_inodes=16k,size=" + strconv.FormatInt(c.Tmp, 10)
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", flags, size); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for device, tree := range devices {
		if err := unix.MoveMount(tree, "", unix.AT_FDCWD, device, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", device, err)
		}
	}
	return nil
}

func closeFile(fd int) { _ = unix.Close(fd) }
