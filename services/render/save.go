// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/services/render/resource"
)

// save makes files of the resources where the render succeeded, or where a failure is to be saved. It returns the error
// that the render ends with.
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

// handled is what kpt's condition says of a function that failed by its exit code; its own words are in the steps.
const handled = "already handled error"

// writeStatus writes how the render went to the root Kptfile of the output, as kpt does. A Kptfile that functions have made
// unreadable, or deleted, goes without.
func (r *Result) writeStatus(root *node, out outcome) {
	output, err := r.Tree.EditKptfile(r.Output, root.pkg, func(kf *yaml.RNode) error {
		return kptfile.SetRendered(kf, condition(root, out.err), renderstatus.ForKptfile(out.functions))
	})
	if err == nil {
		r.Output = output
	}
}

// condition returns the condition that tells how a render went.
func condition(root *node, err error) kptfilev1.Condition {
	if err == nil {
		return kptfilev1.NewRenderedCondition(kptfilev1.ConditionTrue, kptfilev1.ReasonRenderSuccess, "")
	}
	return kptfilev1.NewRenderedCondition(kptfilev1.ConditionFalse, kptfilev1.ReasonRenderFailed, conditionMessage(root.location, err))
}

// conditionMessage words an error with the root package's path as a dot, so that it is the same wherever the package is.
func conditionMessage(root string, err error) string {
	w := wording{
		location: func(location string) string {
			if location == root {
				return "."
			}
			return "./" + strings.TrimPrefix(strings.TrimPrefix(location, root), "/")
		},
		cause: func(err error) string {
			if failed, ok := errors.AsType[*FunctionError](err); ok && renderstatus.Exited(failed.Report.GetFailure().GetReason()) {
				return handled
			}
			// Every path begins with the root directory's: replacing that would take the slashes out of everything.
			if root == "/" {
				return err.Error()
			}
			return strings.ReplaceAll(err.Error(), root, ".")
		},
	}
	if level, ok := errors.AsType[*Error](err); ok {
		return level.text("", "", w)
	}
	return w.cause(err)
}

// blueprintAnnotation is where Config Connector looks for the tools that had a hand in a resource.
const blueprintAnnotation = "cnrm.cloud.google.com/blueprint"

// attribute notes on the resources of Config Connector that they have been rendered, as kpt does.
func attribute(resources []*yaml.RNode) {
	for _, r := range resources {
		if !strings.Contains(resource.APIVersion(r), ".cnrm.") {
			continue
		}
		// A resource that cannot be annotated goes without.
		_ = resource.SetAnnotation(r, blueprintAnnotation, attribution(resource.Annotation(r, blueprintAnnotation)))
	}
}

// attribution adds rendering to the tools that a list names: "krm-" and the groups of commands, in a fixed order.
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
