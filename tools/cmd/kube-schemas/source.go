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
)

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
