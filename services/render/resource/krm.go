// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/parallel"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// CheckKRM tells why a resource is no KRM resource: it must have apiVersion, kind and metadata.name. Files of kustomize,
// known by file name or type, need none of it. The texts are kpt's.
func CheckKRM(r *yaml.RNode) error {
	if isKustomization(r) {
		return nil
	}
	apiVersion, kind, name := APIVersion(r), Kind(r), Name(r)
	meta := yamlnode.Lookup(r.YNode(), yaml.MetadataField)
	switch {
	case apiVersion == "" && kind == "" && (meta == nil || len(meta.Content) == 0):
		return errors.New("resource must have `apiVersion`, `kind`, and `name`")
	case apiVersion == "":
		return errors.New("resource must have `apiVersion`")
	case kind == "":
		return errors.New("resource must have `kind`")
	case name == "":
		return errors.New("resource must have `metadata.name`")
	}
	return nil
}

// CheckAllKRM is CheckKRM for many; the error names the path of the first that is none.
func CheckAllKRM(resources []*yaml.RNode) error {
	return parallel.Each(len(resources), func(i int) error {
		if err := CheckKRM(resources[i]); err != nil {
			return fmt.Errorf("%s: %w", Path(resources[i]), err)
		}
		return nil
	})
}

func isKustomization(r *yaml.RNode) bool {
	if slices.Contains(kptfilev1.RecognizedKustomizationFileNames(), path.Base(Path(r))) {
		return true
	}
	apiVersion := APIVersion(r)
	return strings.HasPrefix(apiVersion, "kustomize.config.k8s.io") || (apiVersion == "" && Kind(r) == "Kustomization")
}
