// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package injection decides how the wrapper server gets into pods of images that do not contain it.
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

// Method is how the wrapper server gets into a pod, as flags name it.
type Method string

const (
	// Auto means that the cluster's version decides, and that a cluster that refuses image volumes gets init containers.
	Auto Method = "auto"
	// ImageVolume mounts an image as a volume, which is about a second faster than an init container. It needs Kubernetes 1.35,
	// or its feature gate, and a container runtime that supports it.
	ImageVolume Method = "image-volume"
	// InitContainer copies the wrapper server from a container that runs before the function's. It works everywhere.
	InitContainer Method = "init-container"
)

const (
	// ImageDir is where the wrapper server is in its own image.
	ImageDir = "/home/nonroot/wrapper-server"
	// ToolsDir is where it, or its image, is in a pod.
	ToolsDir = "/wrapper-server-tools"
)

// Methods are the values of a flag.
var Methods = []Method{Auto, ImageVolume, InitContainer}

// imageVolumes is the first version of Kubernetes that enables image volumes by default.
var imageVolumes = version.MustParseGeneric("1.35")

// Cluster tells the version of its API server.
type Cluster interface {
	ServerVersionWithContext(ctx context.Context) (*apiversion.Info, error)
}

// Detect returns the method that the version of a cluster allows: ImageVolume or InitContainer. With an error it is
// InitContainer.
func Detect(ctx context.Context, cluster Cluster) (Method, error) {
	info, err := cluster.ServerVersionWithContext(ctx)
	if err != nil {
		return InitContainer, fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return InitContainer, fmt.Errorf("version of Kubernetes: %w", err)
	}
	if found.LessThan(imageVolumes) {
		return InitContainer, nil
	}
	return ImageVolume, nil
}

// RefusedByServer reports whether the API server has refused a pod because it does not know image volumes.
func RefusedByServer(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsInvalid(err) && answer.ErrStatus.Details != nil &&
		slices.ContainsFunc(answer.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return strings.HasPrefix(c.Field, "spec.volumes") })
}

// RefusedByNode reports whether the reason and message of a pod that does not start may mean that its node cannot mount images:
// the container is not created, or what is mounted at the path is not in it. A node without mounts for user namespaces is not meant.
func RefusedByNode(reason, message, path string) bool {
	return slices.Contains([]string{
		"CreateContainerError", "RunContainerError", "CreateContainerConfigError", "StartError", "ContainerCannotRun",
	}, reason) && !slices.ContainsFunc([]string{"idmap", "user namespace", "userns"}, func(words string) bool { return strings.Contains(message, words) }) &&
		(strings.Contains(message, path) || strings.Contains(message, "mount") || strings.Contains(message, "volume"))
}
