// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderstatus

import (
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// Items converts results as evaluators report them into those of kpt's API. Severities are passed on as they are, and
// values have been strings all the way: a number among them must not make a status unreadable for its readers.
func Items(results []*evaluationv1.Result) []fnresultv1.ResultItem {
	if len(results) == 0 {
		return nil
	}
	items := make([]fnresultv1.ResultItem, 0, len(results))
	for _, r := range results {
		items = append(items, fnresultv1.ResultItem{
			Message:     r.GetMessage(),
			Severity:    framework.Severity(r.GetSeverity()),
			ResourceRef: resourceRef(r.GetResourceRef()),
			Field:       field(r.GetField()),
			File:        file(r.GetFile()),
			Tags:        r.GetTags(),
		})
	}
	return items
}

func resourceRef(ref *evaluationv1.ResourceRef) *yaml.ResourceIdentifier {
	if ref == nil {
		return nil
	}
	return &yaml.ResourceIdentifier{
		TypeMeta: yaml.TypeMeta{APIVersion: ref.GetApiVersion(), Kind: ref.GetKind()},
		NameMeta: yaml.NameMeta{Name: ref.GetName(), Namespace: ref.GetNamespace()},
	}
}

func field(f *evaluationv1.Field) *fnresultv1.Field {
	if f == nil {
		return nil
	}
	return &fnresultv1.Field{Path: f.GetPath(), CurrentValue: f.GetCurrentValue(), ProposedValue: f.GetProposedValue()}
}

func file(f *evaluationv1.File) *framework.File {
	if f == nil {
		return nil
	}
	return &framework.File{Path: f.GetPath(), Index: int(f.GetIndex())}
}
