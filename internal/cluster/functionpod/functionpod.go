// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package functionpod defines the labels and annotations by which krmfn's components recognise objects in the namespace of
// function pods. Function runners and the image warmer write them, and all components read them.
package functionpod

// Labels and annotations of function pods and their Services. ImageLabel and TemplateAnnotation are also Porch's.
const (
	// ImageLabel holds the pod's name. The pod's Service selects it by this label.
	ImageLabel = "fn.kpt.dev/image"
	// TemplateAnnotation holds the version of the pod template.
	TemplateAnnotation = "fn.kpt.dev/template-version"
	// PoolLabel holds the hash of the pool, and OrdinalLabel the pod's ordinal in the pool. Only objects created by function
	// runners have these labels.
	PoolLabel    = "krmfn.dev/pool"
	OrdinalLabel = "krmfn.dev/ordinal"
	// ReferenceAnnotation holds the requested image, because a label cannot hold every reference.
	ReferenceAnnotation = "krmfn.dev/image"
	// DigestAnnotation holds the digest of the image when the pool was created. Pods of older function runners may lack it. Do
	// not read the digest from the container's image, because admission webhooks may rewrite that.
	DigestAnnotation = "krmfn.dev/digest"
	// LastUseAnnotation holds the time, in RFC 3339, when a function runner last recorded a call or a decision to keep the pod.
	// It may be older than the last call by a quarter of the time to live plus one scan interval of the function runner.
	LastUseAnnotation = "krmfn.dev/last-use"
	// TTLAnnotation holds the maximum idle time of the pod, as a Go duration. A running function runner deletes the pod or
	// renews LastUseAnnotation before twice this time plus one scan interval has passed since LastUseAnnotation.
	TTLAnnotation = "krmfn.dev/ttl"
	// AuthoritiesAnnotation holds the comma-separated fingerprints of the certificate authorities that the pod trusts. Function
	// runners connect to a pod without this annotation in plain text.
	AuthoritiesAnnotation = "krmfn.dev/runner-authorities"
)

// Labels of other objects in the namespace of function pods.
const (
	// PullSecretLabel marks Secrets that function runners maintain so that nodes can pull images. Its value is Keeper. The
	// Secrets have LastUseAnnotation, which a function runner renews at least hourly.
	PullSecretLabel = "krmfn.dev/pull-secret" //nolint:gosec // G101: the name of a label
	// WarmerLabel marks pods that make nodes pull images for the image warmer. Its value identifies the run.
	WarmerLabel = "krmfn.dev/image-warmer"
	// Keeper is the value of PullSecretLabel.
	Keeper = "function-runner"
)
