// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command echo is a function that changes nothing and says who runs it.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, os.Getenv("GREETING"), "as", os.Getuid())
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		os.Exit(1)
	}
}
