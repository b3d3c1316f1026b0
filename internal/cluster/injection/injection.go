// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package injection chooses how the wrapper server gets into pods whose image does not contain it.
package injection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// Method is a way of injecting the wrapper server, as the value of a flag.
type Method string

const (
	// Auto chooses by the cluster's version, and falls back to init containers if the cluster rejects image volumes.
	Auto Method = "auto"
	// ImageVolume mounts an image as a volume, which is about a second faster than an init container. It needs Kubernetes 1.35,
	// or the feature gate on older versions, and a container runtime with support for it.
	ImageVolume Method = "image-volume"
	// InitContainer copies the wrapper server from an init container. It works in every cluster.
	InitContainer Method = "init-container"
)

const (
	// ImageDir is the directory of the wrapper server in its own image.
	ImageDir = "/home/nonroot/wrapper-server"
	// ToolsDir is the directory in a pod that contains the wrapper server, or where its image is mounted.
	ToolsDir = "/wrapper-server-tools"
)

// Methods lists the values of the flag.
var Methods = []Method{Auto, ImageVolume, InitContainer}

// imageVolumes is the first Kubernetes version that enables image volumes by default.
var imageVolumes = version.MustParseGeneric("1.35")

// Cluster returns the version of the API server.
type Cluster interface {
	ServerVersionWithContext(ctx context.Context) (*apiversion.Info, error)
}

// Detect returns the method for the cluster's version: ImageVolume or InitContainer. It returns InitContainer with every error.
func Detect(ctx context.Context, cluster Cluster) (Method, error) {
	info, err := cluster.ServerVersionWithContext(ctx)
	if err != nil {
		return InitContainer, fmt.Errorf("get the Kubernetes version: %w", err)
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return InitContainer, fmt.Errorf("parse the Kubernetes version: %w", err)
	}
	if found.LessThan(imageVolumes) {
		return InitContainer, nil
	}
	return ImageVolume, nil
}

// RefusedByServer reports whether the API server rejected a pod because it does not support image volumes.
func RefusedByServer(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(err) && answer.ErrStatus.Details != nil &&
		slices.ContainsFunc(answer.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Field, "spec.volumes") })
}

// RefusedByNode reports whether the reason and message of a pod that does not start indicate that the node cannot mount images:
// the container is not created, or the mounted files at path are missing. Failures of ID-mapped mounts for user namespaces do
// not count.
func RefusedByNode(reason, message, path string) bool {
	return slices.Contains([]string{
		"CreateContainerError", "RunContainerError", "CreateContainerConfigError", "StartError", "ContainerCannotRun",
	}, reason) && !slices.ContainsFunc([]string{"idmap", "user namespace", "userns"}, func(words string) bool { return strings.Contains(message, words) }) &&
		(strings.Contains(message, path) || strings.Contains(message, "mount") || strings.Contains(message, "volume"))
}
