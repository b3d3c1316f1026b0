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

// buildType says how to read the parameters.
const buildType = "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1"

// provenance writes where a release comes from, for signing, as far as GitHub tells a job in its environment.
func provenance(args []string, getenv func(string) string) error {
	flags := flag.NewFlagSet("provenance", flag.ContinueOnError)
	out := flags.String("out", "provenance.json", "file to write")
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
	var indented bytes.Buffer // protojson's own white space varies.
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(*out, append(indented.Bytes(), '\n'), 0o644)
}

func fromGitHub(getenv func(string) string) (*provenancev1.Provenance, error) {
	known := make(map[string]string)
	for _, name := range []string{
		"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_REF", "GITHUB_SHA", "GITHUB_WORKFLOW_REF", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT",
	} {
		if known[name] = getenv(name); known[name] == "" {
			return nil, fmt.Errorf("%s is not set: provenance is for jobs of GitHub Actions", name)
		}
	}
	repository := known["GITHUB_SERVER_URL"] + "/" + known["GITHUB_REPOSITORY"]
	// OWNER/NAME/PATH@REF.
	path, _, _ := strings.Cut(strings.TrimPrefix(known["GITHUB_WORKFLOW_REF"], known["GITHUB_REPOSITORY"]+"/"), "@")
	parameters, err := structpb.NewStruct(map[string]any{
		"workflow": map[string]any{"ref": known["GITHUB_REF"], "repository": repository, "path": path},
	})
	if err != nil {
		return nil, err
	}
	p := &provenancev1.Provenance{
		BuildDefinition: &provenancev1.BuildDefinition{
			BuildType:          buildType,
			ExternalParameters: parameters,
			ResolvedDependencies: []*attestationv1.ResourceDescriptor{{
				Uri: "git+" + repository + "@" + known["GITHUB_REF"], Digest: map[string]string{"gitCommit": known["GITHUB_SHA"]},
			}},
		},
		RunDetails: &provenancev1.RunDetails{
			Builder: &provenancev1.Builder{Id: known["GITHUB_SERVER_URL"] + "/" + known["GITHUB_WORKFLOW_REF"]},
			Metadata: &provenancev1.BuildMetadata{
				InvocationId: repository + "/actions/runs/" + known["GITHUB_RUN_ID"] + "/attempts/" + known["GITHUB_RUN_ATTEMPT"],
			},
		},
	}
	return p, p.Validate()
}
