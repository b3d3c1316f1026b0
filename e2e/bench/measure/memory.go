// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"strconv"
	"strings"
)

// MemoryIn returns a field of /proc/PID/status in bytes: VmRSS is the resident memory of the process, and VmHWM is its peak.
func MemoryIn(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == field+":" {
			// The unit kB means 1024 bytes.
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the status of the process has no %s", field)
}
