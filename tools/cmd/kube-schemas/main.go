// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command kube-schemas writes the JSON schemas of a Kubernetes release's resources to a text file.
//
// It downloads the Go module k8s.io/kubernetes with "go mod download", reads its OpenAPI v2 document (api/openapi-spec/swagger.json), and
// writes the format that package functions/kubeconform/schemas documents and embeds. Equal releases give equal files, so lint can generate
// the file again and compare.
//
//	kube-schemas -version v1.36.3 -sum h1:… -out kubernetes.tsv
//
// No Go module contains the schemas of openapi2jsonschema, and they are much larger, because each file contains copies of all schemas that
// it refers to.
//
// The flag -sum is the module's checksum in the Go checksum database. Other content is an error.
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

// run parses the arguments and writes the file. Messages of the flag package go to stderr.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("kube-schemas", flag.ContinueOnError)
	flags.SetOutput(stderr)
	version := flags.String("version", "", "`version` of the module k8s.io/kubernetes, such as v1.36.3")
	sum := flags.String("sum", "", "`checksum` of the module in go.sum files (h1:…)")
	out := flags.String("out", "", "`file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version == "" || *sum == "" || *out == "" || flags.NArg() > 0 {
		return errors.New("set the flags -version, -sum and -out, without arguments")
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

// kubernetesModule is the module with the OpenAPI document. go.mod cannot require it, because it requires modules that exist only in its
// own repository.
const kubernetesModule = "k8s.io/kubernetes"

// openAPI returns the OpenAPI v2 document of a Kubernetes release, from the module cache or the module proxy. It returns an error if the
// module has another checksum.
func openAPI(ctx context.Context, version, sum string) ([]byte, error) {
	module := kubernetesModule + "@" + version
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	reply, err := cmd.Output()

	// After a failure, the output is JSON with the reason.
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
