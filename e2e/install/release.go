// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package install installs the function runner into the cluster for end-to-end tests, as a user of its Helm chart would,
// and reaches it as Porch does.
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

// The names of Default.
const (
	ReleaseName = "krmfn"
	// Namespace is Porch's.
	Namespace         = "porch-system"
	FunctionNamespace = "porch-fn-system"
)

// Release is where an installation is.
type Release struct {
	Name string
	// Namespace is that of the release and of the function runners, and FunctionNamespace is where function pods are.
	Namespace, FunctionNamespace string
}

// Default is the release of suites that need no other one.
var Default = Release{Name: ReleaseName, Namespace: Namespace, FunctionNamespace: FunctionNamespace}

// settling is how long an installation, an upgrade or an uninstallation may take.
const settling = 2 * time.Minute

// helm does what the command of that name does.
type helm struct {
	release    Release
	kubeconfig string
	chart      string // directory
	// adopt has an installation take over objects that are there already.
	adopt bool
}

// apply installs the chart or upgrades what is installed, to exactly these values beside the chart's own, and returns when
// the function runner is ready.
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

// installed tells whether there is a release to upgrade. What a broken-off run has left behind is none: it is removed.
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
	install.Wait, install.Timeout = true, settling
	_, err := install.RunWithContext(ctx, parsed, values)
	return err
}

func (h helm) upgrade(ctx context.Context, config *action.Configuration, parsed *chart.Chart, values map[string]any) error {
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.ResetValues, upgrade.MaxHistory = h.release.Namespace, true, 3
	upgrade.Wait, upgrade.Timeout = true, settling
	_, err := upgrade.RunWithContext(ctx, h.release.Name, parsed, values)
	return err
}

// rollback goes back to the revision before.
func (h helm) rollback() error {
	return h.do("rollback", func(config *action.Configuration) error {
		rollback := action.NewRollback(config)
		rollback.Wait, rollback.Timeout = true, settling
		return rollback.Run(h.release.Name)
	})
}

// test runs the chart's own tests.
func (h helm) test() error {
	return h.do("test", func(config *action.Configuration) error {
		test := action.NewReleaseTesting(config)
		test.Namespace, test.Timeout = h.release.Namespace, settling
		_, err := test.Run(h.release.Name)
		return err
	})
}

// remove uninstalls the release, if there is one, and returns when all that it made is gone.
func (h helm) remove() error {
	return h.do("uninstall", func(config *action.Configuration) error {
		uninstall := action.NewUninstall(config)
		uninstall.IgnoreNotFound, uninstall.Wait, uninstall.Timeout = true, true, settling
		_, err := uninstall.Run(h.release.Name)
		return err
	})
}

// do runs one of Helm's actions on what is in the cluster now.
func (h helm) do(what string, run func(*action.Configuration) error) error {
	settings := cli.New()
	settings.KubeConfig = h.kubeconfig
	settings.SetNamespace(h.release.Namespace)
	config := new(action.Configuration)
	// What Helm says of its steps is for those who debug Helm.
	err := config.Init(settings.RESTClientGetter(), h.release.Namespace, "secret", func(string, ...any) {})
	if err == nil {
		err = run(config)
	}
	if err != nil {
		return fmt.Errorf("helm: %s release %s: %w", what, h.release.Namespace+"/"+h.release.Name, err)
	}
	return nil
}
