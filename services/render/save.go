// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
)

// save creates the output files if the render succeeded, or if the package requests to save the resources of a failed render. It returns
// the render's final error.
func (r *Result) save(root *node, out outcome, options Options) error {
	if out.err == nil || root.annotated(kptfilev1.SaveOnRenderFailureAnnotation) {
		if err := r.output(root, out, options); err != nil {
			return err
		}
	}
	if options.WriteStatus {
		r.writeStatus(root, out)
	}
	return out.err
}

func (r *Result) output(root *node, out outcome, options Options) (err error) {
	if out.err == nil && !options.NoAttribution {
		attribute(out.resources)
	}
	r.Output, err = r.Tree.Output(out.resources, out.read...)
	if err == nil {
		return nil
	}
	return &Error{Op: opPackage, Package: root.location, Err: &SaveError{Err: err, Render: out.err}}
}

// blueprintAnnotation is the annotation in which Config Connector expects the tools that have processed a resource.
const blueprintAnnotation = "cnrm.cloud.google.com/blueprint"

// attribute marks Config Connector resources as rendered, like kpt.
func attribute(resources []*yaml.RNode) {
	for _, r := range resources {
		if !strings.Contains(resource.APIVersion(r), ".cnrm.") {
			continue
		}
		// A resource that cannot be annotated stays unmarked.
		_ = resource.SetAnnotation(r, blueprintAnnotation, attribution(resource.Annotation(r, blueprintAnnotation)))
	}
}

// attribution adds "fn" to the command groups in an annotation value, which has the form "krm-pkg-fn-live", with a fixed order
// of groups.
func attribution(before string) string {
	switch {
	case before == "":
		return "krm-fn"
	case !strings.Contains(before, "krm-"):
		return before + ",krm-fn"
	}
	parts := strings.Split(before, ",")
	for i, part := range parts {
		if !strings.Contains(part, "krm") {
			continue
		}
		groups := []string{"krm"}
		for _, group := range []string{"pkg", "fn", "live"} {
			if group == "fn" || strings.Contains(part, group) {
				groups = append(groups, group)
			}
		}
		parts[i] = strings.Join(groups, "-")
	}
	return strings.Join(parts, ",")
}
