// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report says what a run has done: to people as a table, and to programs as JSON.
package report

import (
	"encoding/json"
	"io"
)

// Report is what a run has done, or would do.
type Report struct {
	// DryRun says that nothing was written, and that Pulled means what would be.
	DryRun bool `json:"dryRun,omitempty"`
	// Images are sorted by reference.
	Images []Image `json:"images"`
	// Metadata says what has become of the metadata; nil where there is none to write.
	Metadata *Metadata `json:"metadata,omitempty"`
	// Failures are why the run has not done all that it should.
	Failures []Failure `json:"failures"`
	// Notes are for people.
	Notes []string `json:"notes,omitempty"`
	// Seconds is how long the run took.
	Seconds float64 `json:"seconds"`
}

// Image is what has become of one image.
type Image struct {
	// Image is the reference. Digest is "sha256:…", empty where it is not known.
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"`
	// Metadata is one of the constants below.
	Metadata string `json:"metadata"`
	// Nodes are sorted by name; none where no node was asked to pull.
	Nodes []Node `json:"nodes,omitempty"`
	// Seconds is how long the registry took, and the longest pull.
	Seconds float64 `json:"seconds"`
}

// What there is of an image's metadata.
const (
	// Resolved is of this run, Kept of an earlier one.
	Resolved = "resolved"
	Kept     = "kept"
	// Failed is none.
	Failed = "failed"
)

// Node is what has become of an image on one node.
type Node struct {
	Node string `json:"node"`
	// Result is one of the constants below, and Reason why it was skipped, or has failed.
	Result  string  `json:"result"`
	Reason  string  `json:"reason,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// What becomes of an image on a node, besides Failed.
const (
	Pulled  = "pulled"
	Present = "present"
	Skipped = "skipped"
)

// Metadata is what has become of the metadata.
type Metadata struct {
	// Target is where it is: "ConfigMap NAMESPACE/NAME", or a file.
	Target string `json:"target"`
	// Action is one of the constants below.
	Action string `json:"action"`
	// Kept and Dropped are the references that an earlier run has written, those that are still there and those that are not; sorted.
	Kept    []string `json:"kept,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// What was done with the metadata, or would be.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	// Nothing was resolved, so that there is nothing to write.
	Nothing = "nothing"
)

// Failure is one reason why the run has not done all that it should.
type Failure struct {
	// Image is the reference, or where images are named; empty where it is not about one of them.
	Image string `json:"image,omitempty"`
	// Node is where it was to be pulled; empty where it is not about one.
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason"`
}

// Fail adds a failure.
func (r *Report) Fail(image, node string, err error) {
	r.Failures = append(r.Failures, Failure{Image: image, Node: node, Reason: err.Error()})
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	shown := *r
	// An empty list is easier for programs than none.
	if shown.Images == nil {
		shown.Images = []Image{}
	}
	if shown.Failures == nil {
		shown.Failures = []Failure{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(shown)
}
