// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package services is the entrance to krmfn's Go API; it has no code of its own. The packages below it are for programs that evaluate KRM
// functions or render kpt packages.
//
//   - To render a package, call [github.com/krmfn/krmfn/services/render.Package], whose example reads a package from memory.
//     Package render/packages opens packages in directories, too, and package render/renderstatus describes the outcome.
//   - To call the functions of a function runner, use package evaluation/remote. It links neither a YAML toolkit nor the functions SDK.
//   - To call functions that are linked into the program, use package render/runtime with functions from the module
//     github.com/krmfn/krmfn/functions or functions of your own.
//   - To write a function, start with package evaluation/function, and test it with evaluation/function/golden.
//   - To apply tasks to package revisions as Porch's engine does, use package packagerevision.
//
// Package evaluation has the vocabulary that these packages share: requests, responses and errors. The file api.txt lists the whole API.
package services
