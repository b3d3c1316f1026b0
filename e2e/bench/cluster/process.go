// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// collection matches a line that the Go runtime writes with GODEBUG=gctrace=1: of the sizes of the heap when a collection
// began, when it ended, and of what was alive, the third counts.
var collection = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB, \d+ MB goal, (\d+) MB stacks`)

// memory is what a process has, in bytes: objects that are alive, stacks, and what is resident of all that it has.
type memory struct{ heap, stacks, resident float64 }

// lastCollection returns how many collections a log tells of, and what was alive after the last one.
func lastCollection(log string) (count int, alive memory) {
	all := collection.FindAllStringSubmatch(log, -1)
	if len(all) == 0 {
		return 0, memory{}
	}
	last := all[len(all)-1]
	return len(all), memory{heap: mebibytes(last[1]), stacks: mebibytes(last[2])}
}

// mebibytes reads a number of them that has only digits, and returns it in bytes.
func mebibytes(digits string) float64 {
	count, _ := strconv.ParseFloat(digits, 64)
	return count * (1 << 20)
}

// setEnvironment sets variables for processes that are started from now on, until restore is called.
func setEnvironment(variables map[string]string) (restore func() error, err error) {
	undo := make([]func() error, 0, len(variables))
	restore = func() error {
		errs := make([]error, 0, len(undo))
		for _, one := range undo {
			errs = append(errs, one())
		}
		return errors.Join(errs...)
	}
	for key, value := range variables {
		before, was := os.LookupEnv(key)
		undo = append(undo, func() error {
			if was {
				return os.Setenv(key, before)
			}
			return os.Unsetenv(key)
		})
		if err := os.Setenv(key, value); err != nil {
			return nil, errors.Join(err, restore())
		}
	}
	return restore, nil
}

// residentIn reads VmRSS from a status file of /proc, in bytes.
func residentIn(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kilobytes, err := strconv.ParseFloat(fields[1], 64)
			return kilobytes * 1024, err
		}
	}
	return 0, errors.New("the status of the process has no VmRSS")
}
