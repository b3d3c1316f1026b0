// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "errors"

// openBelow is implemented only on Linux.
func openBelow(int, string) (fd int, err error) { return 0, errors.ErrUnsupported }
