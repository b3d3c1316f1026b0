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

const (
	// ReleaseName is the name of the release.
	ReleaseName = "krmfn"
	// Namespace is the namespace of the release and of the function runners, which is Porch's.
	Namespace = "porch-system"
	// FunctionNamespace is where function pods are.
	FunctionNamespace = "porch-fn-system"
	// settling is how long an installation, an upgrade or an uninstallation may take.
	settling = 2 * time.Minute
)

// helm does what the command of that name does.
type helm struct {
	kubeconfig string
	chart      string // directory
	// adopt has an installation take over objects that are there already.
	adopt bool
}

// apply installs the chart or upgrades what is installed, to exactly these values beside the chart's own, and returns when
// the function runner is ready.
func (h helm) apply(ctx context.Context, values map[string]any) error {
	config, err := h.config()
	if err != nil {
		return err
	}
	parsed, err := loader.LoadDir(h.chart)
	if err != nil {
		return fmt.Errorf("load chart %s: %w", h.chart, err)
	}
	installed, err := h.installed(config)
	if err != nil {
		return err
	}
	if installed {
		err = upgrade(ctx, config, parsed, values)
	} else {
		err = h.install(ctx, config, parsed, values)
	}
	if err != nil {
		return fmt.Errorf("chart %s: %w", h.chart, err)
	}
	return nil
}

// installed tells whether there is a release to upgrade. What a broken-off run has left behind is none: it is removed.
func (h helm) installed(config *action.Configuration) (bool, error) {
	last, err := config.Releases.Last(ReleaseName)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("release %s: %w", ReleaseName, err)
	case last.Info.Status == release.StatusDeployed:
		return true, nil
	}
	return false, h.remove()
}

func (h helm) install(ctx context.Context, config *action.Configuration, parsed *chart.Chart, values map[string]any) error {
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.TakeOwnership = ReleaseName, Namespace, true, h.adopt
	install.Wait, install.Timeout = true, settling
	_, err := install.RunWithContext(ctx, parsed, values)
	return err
}

func upgrade(ctx context.Context, config *action.Configuration, parsed *chart.Chart, values map[string]any) error {
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.ResetValues, upgrade.MaxHistory = Namespace, true, 3
	upgrade.Wait, upgrade.Timeout = true, settling
	_, err := upgrade.RunWithContext(ctx, ReleaseName, parsed, values)
	return err
}

// rollback goes back to the revision before.
func (h helm) rollback() error {
	config, err := h.config()
	if err != nil {
		return err
	}
	rollback := action.NewRollback(config)
	rollback.Wait, rollback.Timeout = true, settling
	if err := rollback.Run(ReleaseName); err != nil {
		return fmt.Errorf("roll release %s back: %w", ReleaseName, err)
	}
	return nil
}

// test runs the chart's own tests.
func (h helm) test() error {
	config, err := h.config()
	if err != nil {
		return err
	}
	test := action.NewReleaseTesting(config)
	test.Namespace, test.Timeout = Namespace, settling
	if _, err := test.Run(ReleaseName); err != nil {
		return fmt.Errorf("helm test %s: %w", ReleaseName, err)
	}
	return nil
}

// remove uninstalls the release, if there is one, and returns when all that it made is gone.
func (h helm) remove() error {
	config, err := h.config()
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(config)
	uninstall.IgnoreNotFound, uninstall.Wait, uninstall.Timeout = true, true, settling
	if _, err := uninstall.Run(ReleaseName); err != nil {
		return fmt.Errorf("uninstall release %s: %w", ReleaseName, err)
	}
	return nil
}

func (h helm) config() (*action.Configuration, error) {
	settings := cli.New()
	settings.KubeConfig = h.kubeconfig
	settings.SetNamespace(Namespace)
	config := new(action.Configuration)
	// What Helm says of its steps is for those who debug Helm.
	if err := config.Init(settings.RESTClientGetter(), Namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	return config, nil
}
