// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	provenancev1 "github.com/in-toto/attestation/go/predicates/provenance/v1"
	attestationv1 "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// buildType identifies the schema of the external parameters.
const buildType = "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1"

// runProvenance writes the provenance of a release for signing. It contains what GitHub Actions sets in the environment of a job.
func runProvenance(args []string, getenv func(string) string) error {
	flags := flag.NewFlagSet("provenance", flag.ContinueOnError)
	out := flags.String("out", "provenance.json", "`file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := fromGitHub(getenv)
	if err != nil {
		return err
	}
	data, err := protojson.Marshal(p)
	if err != nil {
		return err
	}
	var indented bytes.Buffer // the white space of protojson is random
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(*out, append(indented.Bytes(), '\n'), 0o644)
}

func fromGitHub(getenv func(string) string) (*provenancev1.Provenance, error) {
	values := make(map[string]string)
	for _, name := range []string{
		"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_REF", "GITHUB_SHA", "GITHUB_WORKFLOW_REF", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT",
	} {
		if values[name] = getenv(name); values[name] == "" {
			return nil, fmt.Errorf("%s is not set: run provenance in a job of GitHub Actions", name)
		}
	}
	repository := values["GITHUB_SERVER_URL"] + "/" + values["GITHUB_REPOSITORY"]
	// The format is OWNER/NAME/PATH@REF.
	path, _, _ := strings.Cut(strings.TrimPrefix(values["GITHUB_WORKFLOW_REF"], values["GITHUB_REPOSITORY"]+"/"), "@")
	parameters, err := structpb.NewStruct(map[string]any{
		"workflow": map[string]any{"ref": values["GITHUB_REF"], "repository": repository, "path": path},
	})
	if err != nil {
		return nil, err
	}
	p := &provenancev1.Provenance{
		BuildDefinition: &provenancev1.BuildDefinition{
			BuildType:          buildType,
			ExternalParameters: parameters,
			ResolvedDependencies: []*attestationv1.ResourceDescriptor{{
				Uri: "git+" + repository + "@" + values["GITHUB_REF"], Digest: map[string]string{"gitCommit": values["GITHUB_SHA"]},
			}},
		},
		RunDetails: &provenancev1.RunDetails{
			Builder: &provenancev1.Builder{Id: values["GITHUB_SERVER_URL"] + "/" + values["GITHUB_WORKFLOW_REF"]},
			Metadata: &provenancev1.BuildMetadata{
				InvocationId: repository + "/actions/runs/" + values["GITHUB_RUN_ID"] + "/attempts/" + values["GITHUB_RUN_ATTEMPT"],
			},
		},
	}
	return p, p.Validate()
}
