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
	text      = `The task handler refuses invalid values at the start.

## Version constraints

The tag of a function in a Kptfile may be a version constraint, such as ` + "`~0.2` or `>=0.2 <1`" + `. Before the first function of
a package runs, the task handler asks the registry of such an image for its tags and uses the highest tag that matches. Results
and status name that tag; the pipeline in the Kptfile keeps the constraint.

* Images without a constraint need no registry.
* Credentials come from Docker's configuration, the file ` + "`config.json`" + ` in the directory ` + "`DOCKER_CONFIG`" + `. ` + "`HTTPS_PROXY` and\n`NO_PROXY`" + ` configure proxies.
* The task handler caches a list of tags for five minutes. If the registry fails later, it uses the cached list and retries after
  ten seconds.
* If the registry has never answered and the image is one of ` + "`--builtin-functions`" + `, the task handler uses its own
  [list of releases](../functions/QUIRKS.md#releases). If none of them matches, the function fails with the registry's error.

## Other versions

Each function of ` + "`--builtin-functions`" + ` has one version. With ` + "`--function-runner`" + `, the function runner evaluates all other tags.
Without it, the task handler evaluates them and reports that: in ` + "`implementation`" + `, in a result of severity warning if the
tag is a version (` + "`set-labels:v9.9.9 is evaluated by v0.2.0`" + `), and in the log. It leaves an image with a digest to the function runner.

## Processes of functions

Plain functions, such as ` + "`set-labels`" + ` and ` + "`apply-setters`" + `, run in the task handler's process. ` + "`gatekeeper`" + `, ` + "`kubeconform`" + `, ` + "`kubeval`" + `,
` + "`render-helm-chart`" + `, ` + "`search-replace`" + `, ` + "`starlark`" + ` and ` + "`validate-cel`" + ` run what packages write, or link large libraries: each call of
them is a process of krmfn's executable ` + "`functions`" + `, without variables of the task handler's environment, with an empty ` + "`TMPDIR`" + `, and limits on
[memory](operate.md#memory), time and output. A process that exceeds a limit or is killed fails its own call only.

The executable is in the directory of the task handler's own executable, in the container image and after ` + "`make build`" + `. If it is missing,
the task handler logs a warning at the start, and the function runner evaluates its functions. Without a function runner, their calls fail.

## Flags`
)

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(Options).Flags(), "go -C task-handler test ./options -run TestReference -update",
		text, map[string]string{"max-concurrent-renders": "4 × processors"})
	flagstest.Reference(t, flagsPage, page)
}
