// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

const (
	flagsPage = "../../docs/task-handler.md"
	text      = `A value that makes no sense is refused at start.

## Version constraints

The tag of a function in a Kptfile may be a version constraint, such as ` + "`~0.2` or `>=0.2 <1`" + `. Before the first function of
a package runs, the registries of such images are asked which tags there are, and the highest tag that satisfies is used.
It stands in results and in the status; the pipeline in the Kptfile keeps the constraint.

* No registry is asked because of other tags: without constraints no way to one is needed.
* Credentials come from Docker's configuration: a file ` + "`config.json`" + ` in the directory that ` + "`DOCKER_CONFIG`" + ` names. Proxies come
  from ` + "`HTTPS_PROXY` and `NO_PROXY`" + `.
* A list of tags holds for five minutes. When a registry fails later, the old list is used; it is asked again after ten
  seconds.
* When a registry cannot be asked and has not been, and the image is a function of ` + "`--builtin-functions`" + ` whose own version
  satisfies, that version is used. Otherwise the function fails, with the registry's error.

## Flags`
)

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(Options).Flags(), "go -C task-handler test ./options -run TestReference -update",
		text, map[string]string{"max-concurrent-renders": "4 × processors"})
	flagstest.Reference(t, flagsPage, page)
}
