// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import "os"

// sharedMemory is in every container, and everybody may write to it. It counts as memory of the pod.
const sharedMemory = "/dev/shm"

// scratchRoot returns where functions get their temporary directories: the first of some directories in which one can be made.
// The image of a function may have nothing but the function in it, and pod templates that were written for Porch add no
// directory for temporary files.
func scratchRoot(candidates ...string) string {
	for _, root := range candidates {
		dir, err := os.MkdirTemp(root, "krm-function-*")
		if err == nil {
			_ = os.Remove(dir)
			return root
		}
	}
	// What is wrong is told by the first call.
	return candidates[0]
}
