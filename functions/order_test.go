// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// orderConfigs are functionConfigs with which each function changes something and keeps the order of items.
var orderConfigs = map[string]string{
	"apply-setters":         "data: {image: nginx}",
	"create-setters":        "data: {app: web}",
	"delete-annotations":    "apiVersion: v1\nkind: ConfigMap\ndata: {annotationKeys: a}",
	"ensure-name-substring": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {prepend: x-}",
	"fix":                   "",
	"format":                "",
	"gatekeeper":            "",
	"generate-kpt-pkg-docs": "",
	"list-setters":          "",
	"no-op":                 "",

	"remove-local-config-resources": "",
	"render-helm-chart":             "",

	"search-replace":         "data: {by-value: web, put-value: shop}",
	"set-annotations":        "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}",
	"set-enforcement-action": "data: {enforcementAction: warn}",
	"set-name-prefix":        "apiVersion: v1\nkind: ConfigMap\ndata: {prefix: x-}",
	"set-project-id":         "data: {project-id: p}",
	"upsert-resource":        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {}",
}

const orderItems = `
- apiVersion: v1
  kind: Namespace
  metadata: {name: web}
- apiVersion: v1
  kind: Service
  metadata: {name: web}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: web}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: web}
`

var kinds = regexp.MustCompile(`(?m)^  kind: (\w+)$`)

// The catalog's functions that use kyaml's framework keep the order of items, the list's apiVersion and an empty list. Those
// that use the functions SDK do not.
func TestOrderOfItems(t *testing.T) {
	t.Parallel()
	const older = "apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\n"
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			config, keeps := orderConfigs[f.Name]
			in := older + strings.TrimPrefix(functiontest.List(orderItems, config), functiontest.Head)
			out, _ := function.Run(t.Context(), f, []byte(in))
			head, want := older, []string{"Namespace", "Service", "Deployment", "DaemonSet", "Kptfile"}
			if !keeps {
				head, want = functiontest.Head, []string{"DaemonSet", "Deployment", "Kptfile", "Namespace", "Service"}
			}
			var got []string
			for _, match := range kinds.FindAllStringSubmatch(string(out), -1) {
				got = append(got, match[1])
			}
			if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" || !strings.HasPrefix(string(out), head) {
				t.Errorf("order of items (-want +got):\n%s\n%s", diff, out)
			}
			none, _ := function.Run(t.Context(), f, []byte(functiontest.Head+"items: null\n"))
			if lines := strings.Split(string(none), "\n"); slices.Contains(lines, "items: []") != keeps {
				t.Errorf("output without items =\n%s", none)
			}
		})
	}
}
