// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package install installs the function runner into the cluster for end-to-end tests with its Helm chart, as a user would, and connects to
// it as Porch does.
package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// The names in Default.
const (
	ReleaseName = "krmfn"
	// Namespace is the namespace of Porch.
	Namespace         = "porch-system"
	FunctionNamespace = "porch-fn-system"
)

// Release identifies an installation.
type Release struct {
	Name string
	// Namespace is the namespace of the release and of the function runners. FunctionNamespace is the namespace of function pods.
	Namespace, FunctionNamespace string
}

// Default is the release for suites that need only one.
var Default = Release{Name: ReleaseName, Namespace: Namespace, FunctionNamespace: FunctionNamespace}

// settleTimeout is the time limit for an installation, an upgrade or an uninstallation.
const settleTimeout = 2 * time.Minute

// helm runs Helm actions, like the command helm.
type helm struct {
	release    Release
	kubeconfig string
	chart      string // directory
	// adopt makes an installation take ownership of existing objects, and impatient makes it return before they are ready.
	adopt, impatient bool
}

// apply installs or upgrades the chart with the given values, and resets the values of the previous revision. It returns when the function
// runner is ready.
func (h helm) apply(ctx context.Context, values map[string]any) error {
	return h.do("install or upgrade", func(config *action.Configuration) error {
		parsed, err := loader.LoadDir(h.chart)
		if err != nil {
			return err
		}
		installed, err := h.installed(config)
		if err != nil {
			return err
		}
		if installed {
			return h.upgrade(ctx, config, parsed, values)
		}
		return h.install(ctx, config, parsed, values)
	})
}

// installed reports whether a deployed release exists. It removes a release that an interrupted run left behind.
func (h helm) installed(config *action.Configuration) (bool, error) {
	last, err := config.Releases.Last(h.release.Name)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound):
		return false, nil
	case err != nil:
		return false, err
	case last.Info.Status == release.StatusDeployed:
		return true, nil
	}
	return false, h.remove()
}

func (h helm) install(ctx context.Context, config *action.Configuration, parsed *chart.Chart, values map[string]any) error {
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.TakeOwnership = h.release.Name, h.release.Namespace, true, h.adopt
	install.Wait, install.Timeout = !h.impatient, settleTimeout
	_, err := install.RunWithContext(ctx, parsed, values)
	return err
}

func (h helm) upgrade(ctx context.Context, config *action.Configuration, parsed *chart.Chart, values map[string]any) error {
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.ResetValues, upgrade.MaxHistory = h.release.Namespace, true, 3
	upgrade.Wait, upgrade.Timeout = true, settleTimeout
	_, err := upgrade.RunWithContext(ctx, h.release.Name, parsed, values)
	return err
}

// rollback restores the previous revision.
func (h helm) rollback() error {
	return h.do("rollback", func(config *action.Configuration) error {
		rollback := action.NewRollback(config)
		rollback.Wait, rollback.Timeout = true, settleTimeout
		return rollback.Run(h.release.Name)
	})
}

// test runs the tests of the chart.
func (h helm) test() error {
	return h.do("test", func(config *action.Configuration) error {
		test := action.NewReleaseTesting(config)
		test.Namespace, test.Timeout = h.release.Namespace, settleTimeout
		_, err := test.Run(h.release.Name)
		return err
	})
}

// remove uninstalls the release, if it exists, and waits until all its objects are gone.
func (h helm) remove() error {
	return h.do("uninstall", func(config *action.Configuration) error {
		uninstall := action.NewUninstall(config)
		uninstall.IgnoreNotFound, uninstall.Wait, uninstall.Timeout = true, true, settleTimeout
		_, err := uninstall.Run(h.release.Name)
		return err
	})
}

// do runs a Helm action on the current state of the cluster.
func (h helm) do(what string, run func(*action.Configuration) error) error {
	settings := cli.New()
	settings.KubeConfig = h.kubeconfig
	settings.SetNamespace(h.release.Namespace)
	config := new(action.Configuration)
	// Helm's own log messages help only to debug Helm.
	err := config.Init(settings.RESTClientGetter(), h.release.Namespace, "secret", func(string, ...any) {})
	if err == nil {
		err = run(config)
	}
	if err != nil {
		return fmt.Errorf("helm: %s release %s: %w", what, h.release.Namespace+"/"+h.release.Name, err)
	}
	return nil
}
