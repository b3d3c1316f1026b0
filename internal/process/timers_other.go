// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// RelaxTimers does nothing: only Linux has a timer slack.
func RelaxTimers() {}
