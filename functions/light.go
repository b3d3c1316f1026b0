// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build light

package functions

import "github.com/krmfn/krmfn/services/evaluation/function"

var heavy []function.Function
