// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functions holds krmfn's curated KRM functions. They can be evaluated in process ([Run]), and [Main] serves one
// as a program of its own.
//
// A function behaves as the function of its name in the KRM functions catalog does: functionConfig forms, result texts
// and severities, field paths, exit codes. What it prints has the form of the functions SDK
// (github.com/kptdev/krm-functions-sdk/go/fn). QUIRKS.md lists the oddities of the catalog's functions and which of them
// are kept.
//
// A function is one file that registers itself, and its test.
package functions
