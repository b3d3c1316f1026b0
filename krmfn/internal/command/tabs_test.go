// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// tabs are lines of which the first begins with a tab, as in the stack traces of some languages. YAML has to quote them.
const tabs = "\tat main\n\tat start\n"

func TestResultsOfLinesThatBeginWithATab(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fails := filepath.Join(dir, "fails.sh")
	if err := os.WriteFile(fails, []byte("cat >/dev/null\nprintf '\\tat main\\n\\tat start\\n' >&2\nexit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	krmfn(t, "eval", newPackage(t, nil), "--exec", "sh "+fails, "--results-dir", dir)
	var got renderstatus.ResultList
	readYAML(t, filepath.Join(dir, "results.yaml"), &got)
	if len(got.Items) != 1 || got.Items[0].Stderr != tabs {
		t.Errorf("standard error %q is read as %+v", tabs, got.Items)
	}
}

func TestValuesOfLinesThatBeginWithATab(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	krmfn(t, "eval", dir, "--image=set-annotations", "--save", "--type=mutator", "--", "trace="+tabs).ok(t)
	var got kptfilev1.KptFile
	readYAML(t, filepath.Join(dir, "Kptfile"), &got)
	saved := got.Pipeline.Mutators[len(got.Pipeline.Mutators)-1].ConfigMap
	if diff := cmp.Diff(map[string]string{"trace": tabs}, saved); diff != "" {
		t.Errorf("the Kptfile's function has (-want +got):\n%s", diff)
	}
}

func readYAML(t *testing.T, file string, value any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, value); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
