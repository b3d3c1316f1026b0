// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command kube-schemas writes the JSON schemas of a Kubernetes release's resources, as one text file.
//
// It reads the OpenAPI v2 document that the Go module k8s.io/kubernetes carries (api/openapi-spec/swagger.json), which
// it gets with "go mod download", and writes the format that package functions/kubeconform/schemas documents and embeds.
// The same release gives the same bytes, so that a check can generate again and compare.
//
//	kube-schemas -version v1.36.3 -sum h1:… -out kubernetes.tsv
//
// The schemas that openapi2jsonschema makes are published in no Go module, and are far larger: each file repeats all
// that it refers to.
//
// The sum is the module's in the Go checksum database: other content under the same version is refused.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube-schemas:", err)
		os.Exit(1)
	}
}

// run does what the arguments ask for; what the flag package has to say goes to stderr.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("kube-schemas", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("version", "", "version of the module k8s.io/kubernetes, such as v1.36.3")
	sum := flags.String("sum", "", "checksum of that module, in the form of go.sum (h1:…)")
	out := flags.String("out", "", "file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *sum == "" || *out == "" || flags.NArg() > 0 {
		return errors.New("want the flags -version, -sum and -out, and nothing else")
	}

	spec, err := openAPI(ctx, *version, *sum)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "# kubernetes %s\n", *version)
	if err := convert(spec, &text); err != nil {
		return fmt.Errorf("convert the OpenAPI document of kubernetes %s: %w", *version, err)
	}
	return os.WriteFile(*out, text.Bytes(), 0o644)
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
