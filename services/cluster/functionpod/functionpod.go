// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionpod names the labels and annotations by which the parts of krmfn know what belongs to whom in the
// namespace of the function pods. They are written by function runners and by the image warmer, and read by all.
package functionpod

// Of function pods and their Services. ImageLabel and TemplateAnnotation are Porch's.
const (
	// ImageLabel has the name of the pod, by which its Service selects it.
	ImageLabel = "fn.kpt.dev/image"
	// TemplateAnnotation has the version of the template.
	TemplateAnnotation = "fn.kpt.dev/template-version"
	// PoolLabel has the hash of the pool, and SlotLabel the slot: who sees a pod knows by them whose it is. Objects of other
	// makers do not have them.
	PoolLabel = "krmfn.dev/pool"
	SlotLabel = "krmfn.dev/slot"
	// ReferenceAnnotation has the image as it was asked for, which a label could not hold.
	ReferenceAnnotation = "krmfn.dev/image"
	// DigestAnnotation has the digest that the reference stood for when the pool was made. It may be missing at pods of older
	// function runners. What runs is not read from the container's image, which admission webhooks may rewrite.
	DigestAnnotation = "krmfn.dev/digest"
	// LastUseAnnotation has when a function runner last noted a call, or that it wants to keep the pod all the same, in
	// RFC 3339. It is up to a quarter of the time to live, and one scan of the function runner, older than the last call.
	LastUseAnnotation = "krmfn.dev/last-use"
	// TTLAnnotation has how long the pod may be idle, as a Go duration. A function runner that lives has deleted the pod, or
	// has renewed LastUseAnnotation, before twice that time has passed since LastUseAnnotation, or one of its scans later.
	TTLAnnotation = "krmfn.dev/ttl"
	// AuthoritiesAnnotation has the fingerprints of the certificate authorities that the pod trusts, with commas in between. A pod without
	// it is reached without TLS.
	AuthoritiesAnnotation = "krmfn.dev/runner-authorities"
)

// Of other objects in the namespace of the function pods.
const (
	// PullSecretLabel marks Secrets that function runners keep for the pulls of nodes. Its value is Keeper. They have
	// LastUseAnnotation, renewed at least every hour while a function runner keeps them.
	PullSecretLabel = "krmfn.dev/pull-secret" //nolint:gosec // G101: the name of a label
	// WarmerLabel marks pods by which the image warmer has nodes pull images. Its value names the run.
	WarmerLabel = "krmfn.dev/image-warmer"
	// Keeper is the value of PullSecretLabel.
	Keeper = "function-runner"
)
