// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

// predicate is SLSA's provenance, version 1, as far as a workflow of GitHub knows it: https://slsa.dev/spec/v1.0/provenance.
type predicate struct {
	BuildDefinition definition `json:"buildDefinition"`
	RunDetails      runDetails `json:"runDetails"`
}

type definition struct {
	BuildType            string     `json:"buildType"`
	ExternalParameters   parameters `json:"externalParameters"`
	ResolvedDependencies []resource `json:"resolvedDependencies"`
}

type parameters struct {
	Workflow workflow `json:"workflow"`
}

type workflow struct {
	Ref        string `json:"ref"`
	Repository string `json:"repository"`
	Path       string `json:"path"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest"`
}

type runDetails struct {
	Builder  builder  `json:"builder"`
	Metadata metadata `json:"metadata"`
}

type builder struct {
	ID string `json:"id"`
}

type metadata struct {
	InvocationID string `json:"invocationId"`
}

// buildType says how to read the parameters.
const buildType = "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1"

// provenance writes where a release comes from, for signing. It knows it from what GitHub tells a job in its environment.
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
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, append(data, '\n'), 0o644)
}

func fromGitHub(getenv func(string) string) (predicate, error) {
	known := make(map[string]string)
	for _, name := range []string{
		"GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_REF", "GITHUB_SHA", "GITHUB_WORKFLOW_REF", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT",
	} {
		if known[name] = getenv(name); known[name] == "" {
			return predicate{}, fmt.Errorf("%s is not set: provenance is for jobs of GitHub Actions", name)
		}
	}
	repository := known["GITHUB_SERVER_URL"] + "/" + known["GITHUB_REPOSITORY"]
	// OWNER/NAME/PATH@REF.
	path, _, _ := strings.Cut(strings.TrimPrefix(known["GITHUB_WORKFLOW_REF"], known["GITHUB_REPOSITORY"]+"/"), "@")
	return predicate{
		BuildDefinition: definition{
			BuildType:          buildType,
			ExternalParameters: parameters{Workflow: workflow{Ref: known["GITHUB_REF"], Repository: repository, Path: path}},
			ResolvedDependencies: []resource{{
				URI: "git+" + repository + "@" + known["GITHUB_REF"], Digest: map[string]string{"gitCommit": known["GITHUB_SHA"]},
			}},
		},
		RunDetails: runDetails{
			Builder:  builder{ID: known["GITHUB_SERVER_URL"] + "/" + known["GITHUB_WORKFLOW_REF"]},
			Metadata: metadata{InvocationID: repository + "/actions/runs/" + known["GITHUB_RUN_ID"] + "/attempts/" + known["GITHUB_RUN_ATTEMPT"]},
		},
	}, nil
}
