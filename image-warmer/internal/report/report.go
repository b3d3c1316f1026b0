// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report describes the result of a run, as a table for people and as JSON for programs.
package report

import (
	"encoding/json"
	"io"
)

// Report is the result of a run.
type Report struct {
	// DryRun reports that the run changed nothing. Pulled then means images that a run would pull.
	DryRun bool `json:"dryRun,omitempty"`
	// Images are sorted by reference.
	Images []Image `json:"images"`
	// Metadata is the result of publishing metadata. It is nil if metadata is not published.
	Metadata *Metadata `json:"metadata,omitempty"`
	// Failures are the reasons why the run is incomplete.
	Failures []Failure `json:"failures"`
	// Notes are further messages.
	Notes []string `json:"notes,omitempty"`
	// Seconds is the duration of the run.
	Seconds float64 `json:"seconds"`
}

// Image is the result for one image.
type Image struct {
	// Image is the reference. Digest is "sha256:…", or empty if it is unknown.
	Image  string `json:"image"`
	Digest string `json:"digest,omitempty"`
	// Metadata is one of the constants below.
	Metadata string `json:"metadata"`
	// Nodes are sorted by name. The list is empty if no node was asked to pull.
	Nodes []Node `json:"nodes,omitempty"`
	// Seconds is the duration of the lookup plus the duration of the longest pull.
	Seconds float64 `json:"seconds"`
}

// Values of Image.Metadata.
const (
	// Resolved metadata is from this run, and Kept metadata from an earlier one.
	Resolved = "resolved"
	Kept     = "kept"
	// Failed images have no metadata.
	Failed = "failed"
)

// Node is the result for an image on one node.
type Node struct {
	Node string `json:"node"`
	// Result is one of the constants below or Failed. Reason says why the node was skipped or the pull failed.
	Result  string  `json:"result"`
	Reason  string  `json:"reason,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Values of Node.Result, in addition to Failed.
const (
	Pulled  = "pulled"
	Present = "present"
	Skipped = "skipped"
)

// Metadata is the result of publishing metadata.
type Metadata struct {
	// Target is "ConfigMap NAMESPACE/NAME", or the name of a file.
	Target string `json:"target"`
	// Action is one of the constants below.
	Action string `json:"action"`
	// Kept and Dropped are the references of earlier runs that were kept and removed, sorted.
	Kept    []string `json:"kept,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// Values of Metadata.Action.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	// Nothing means that no image was resolved, so that nothing was written.
	Nothing = "nothing"
)

// Failure is one reason why a run is incomplete.
type Failure struct {
	// Image is the reference of the image, or the source that cannot be read. Empty means neither.
	Image string `json:"image,omitempty"`
	// Node is the name of the node whose pull failed. Empty means that the failure does not concern one node.
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
	// Programs expect an empty list instead of null.
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
