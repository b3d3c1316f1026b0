// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// Programs print an empty list of items in different forms.
const (
	// noItems is the output of a program that omits items by mistake, or of one built on the SDK that has no functionConfig.
	noItems = listHead + "results:\n- message: done\n"
	// noItemsButConfig is the output of a program built on the SDK that has a functionConfig.
	noItemsButConfig = listHead + "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n"
)

func TestEmptyOutput(t *testing.T) {
	t.Parallel()
	const accident = "the output has no items, which would delete all resources that the function got: return the resources to keep, or an empty list of items"
	for name, tc := range map[string]struct {
		kptfile, output string
		allow           bool
		want            string // the error, or else the remaining files
	}{
		"an empty list":                        {kptfile: mutators("fn"), output: listHead + "items: []\n", want: "notes.txt"},
		"null":                                 {kptfile: mutators("fn"), output: listHead + "items: null\n", want: "notes.txt"},
		"none, with the functionConfig":        {kptfile: mutators("fn"), output: noItemsButConfig, want: "notes.txt"},
		"none":                                 {kptfile: mutators("fn"), output: noItems, want: accident},
		"none, allowed":                        {kptfile: mutators("fn"), output: noItems, allow: true, want: "notes.txt"},
		"none of a selection":                  {kptfile: mutators("{image: fn, selectors: [{kind: ConfigMap}]}"), output: noItems, want: accident},
		"none of a selection, allowed":         {kptfile: mutators("{image: fn, selectors: [{kind: ConfigMap}]}"), output: noItems, allow: true, want: "Kptfile notes.txt"},
		"an empty list of a selection":         {kptfile: mutators("{image: fn, selectors: [{kind: ConfigMap}]}"), output: listHead + "items: []\n", want: "Kptfile notes.txt"},
		"none where nothing is selected":       {kptfile: mutators("{image: fn, selectors: [{kind: None}]}"), output: noItems, want: "Kptfile a.yaml notes.txt"},
		"none of a validator":                  {kptfile: validators("fn"), output: noItems, want: "Kptfile a.yaml notes.txt"},
		"an empty list instead of the Kptfile": {kptfile: mutators("{image: fn, selectors: [{kind: Kptfile}]}"), output: listHead + "items: []\n", want: "the output would delete the package's Kptfile: return all items, or exclude kind Kptfile from the function"},
		"only the Kptfile, allowed":            {kptfile: mutators("{image: fn, selectors: [{kind: Kptfile}]}"), output: noItems, allow: true, want: "a.yaml notes.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(tc.kptfile), "a.yaml": cm("a"), "notes.txt": "n"})
			if err != nil {
				t.Fatal(err)
			}
			f := &fake{functions: map[string]func([]byte) ([]byte, error){"fn:latest": returns(tc.output)}}
			result, err := render.Package(t.Context(), source, render.Options{Evaluator: f, AllowDeletion: tc.allow})
			if err != nil {
				if !strings.HasSuffix(err.Error(), "pipeline.run: "+tc.want) || !errors.As(err, new(*render.DeletionError)) {
					t.Errorf("error = %v, want a DeletionError %q", err, tc.want)
				}
				return
			}
			source.Apply(result.Output.Changes)
			if diff := cmp.Diff(tc.want, strings.Join(slices.Sorted(maps.Keys(source.Files())), " ")); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// After a function has deleted everything, the next functions get an empty list, and no Kptfile is left to write the status
// to.
func TestEverythingIsDeletedBetweenFunctions(t *testing.T) {
	t.Parallel()
	source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(mutators("gone", "same")), "a.yaml": cm("a")})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{functions: map[string]func([]byte) ([]byte, error){"gone:latest": returns(listHead + "items: []\n"), "same:latest": each()}}
	result, err := render.Package(t.Context(), source, render.Options{Evaluator: f, WriteStatus: true})
	if err != nil {
		t.Fatal(err)
	}
	if source.Apply(result.Output.Changes); len(source.Files()) != 0 || len(result.Report.Result.Items) != 2 {
		t.Errorf("remaining files = %v, report = %+v", source.Files(), result.Report.Result)
	}
}

func TestEmptyOutputOfOneFunction(t *testing.T) {
	t.Parallel()
	f := &fake{functions: map[string]func([]byte) ([]byte, error){"r.io/none": returns(noItems), "r.io/empty": returns(listHead + "items: []\n")}}
	for name, tc := range map[string]struct {
		image string
		allow bool
		fails bool
	}{
		"none":            {image: "r.io/none", fails: true},
		"none, permitted": {image: "r.io/none", allow: true},
		"an empty list":   {image: "r.io/empty"},
	} {
		got, record, err := render.Function(t.Context(), kptfilev1.Function{Image: tc.image}, nil, directory(t), render.Options{Evaluator: f, AllowDeletion: tc.allow})
		if (err != nil) != tc.fails || len(got) != 0 || (record.ExitCode != 0) != tc.fails {
			t.Errorf("%s: %d resources, exit code %d, error %v", name, len(got), record.ExitCode, err)
		}
	}
}
