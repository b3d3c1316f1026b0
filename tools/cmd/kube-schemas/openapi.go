// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// definition is a schema of OpenAPI v2 with the fields that Kubernetes publishes. It is decoded strictly: a keyword that
// is not listed here fails, as leaving it out unseen would make schemas that accept too much.
type definition struct {
	Ref                  string                 `json:"$ref"`
	Type                 string                 `json:"type"`
	Format               string                 `json:"format"`
	Properties           map[string]*definition `json:"properties"`
	Required             []string               `json:"required"`
	Items                *definition            `json:"items"`
	AdditionalProperties *definition            `json:"additionalProperties"`
	Kinds                []groupVersionKind     `json:"x-kubernetes-group-version-kind"`

	// What no resource can violate on its own.
	Description   json.RawMessage `json:"description"`
	ListType      json.RawMessage `json:"x-kubernetes-list-type"`
	ListMapKeys   json.RawMessage `json:"x-kubernetes-list-map-keys"`
	MapType       json.RawMessage `json:"x-kubernetes-map-type"`
	PatchMergeKey json.RawMessage `json:"x-kubernetes-patch-merge-key"`
	PatchStrategy json.RawMessage `json:"x-kubernetes-patch-strategy"`
	Unions        json.RawMessage `json:"x-kubernetes-unions"`
}

// shared tells whether the definition has a schema of its own that others refer to: whether it is an object with
// fields, or a kind.
func (def *definition) shared() bool {
	return len(def.Properties) > 0 || len(def.Kinds) > 0
}

// quantityName is the definition of quantities, such as 500m. quantityFormat marks it: unlike the other type of several
// JSON types, it comes without a format.
const (
	quantityName   = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	quantityFormat = "quantity"
)

// types returns the JSON types of a value; none means any. OpenAPI v2 has no way to say that a value is one of several
// types, so Kubernetes gives those the type string, although JSON numbers are as good.
func (def *definition) types() []string {
	switch {
	case def.Type == "":
		return nil
	case def.Format == "int-or-string":
		return []string{"integer", "string"}
	case def.Format == quantityFormat:
		return []string{"number", "string"}
	default:
		return []string{def.Type}
	}
}

// kinds lists what the definition is the schema of, sorted, each as apiVersion/kind.
func (def *definition) kinds() []string {
	names := make([]string, 0, len(def.Kinds))
	for _, gvk := range def.Kinds {
		names = append(names, gvk.apiVersion()+"/"+gvk.Kind)
	}
	slices.Sort(names)
	return names
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// apiVersion is the value of the field of that name in a resource.
func (gvk groupVersionKind) apiVersion() string {
	if gvk.Group == "" {
		return gvk.Version
	}
	return gvk.Group + "/" + gvk.Version
}

// kubernetesModule holds the OpenAPI document. It is downloaded rather than required by go.mod: its own go.mod names
// staging modules that exist only inside its repository.
const kubernetesModule = "k8s.io/kubernetes"

// openAPI returns the OpenAPI v2 document of a Kubernetes release, from the Go module cache or, when it is not there,
// through the Go module proxy. The error says so when the module's checksum is another than sum.
func openAPI(ctx context.Context, version, sum string) ([]byte, error) {
	module := kubernetesModule + "@" + version
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	reply, err := cmd.Output()

	// On a failure the reply is JSON too, and says more than the exit code.
	var got struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(reply, &got); err == nil {
		err = jsonErr
	}
	switch {
	case got.Error != "":
		return nil, fmt.Errorf("download %s: %s", module, got.Error)
	case err != nil:
		return nil, fmt.Errorf("download %s: %w", module, err)
	case got.Sum != sum:
		return nil, fmt.Errorf("module %s has checksum %s, want %s", module, got.Sum, sum)
	}
	return os.ReadFile(filepath.Join(got.Dir, "api", "openapi-spec", "swagger.json"))
}
