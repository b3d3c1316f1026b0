// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
)

const (
	// functionDir is the mount path of image volumes.
	functionDir = "/function"
	// container is the name of the container.
	container = "pull"
	// volume is the name of the container's volume.
	volume = "volume"
)

// Pod returns a pod that makes a node pull an image. The pod runs the wrapper server, which prints its flags and exits. With an image
// volume, no code of the image runs. Otherwise, the container has the image and runs a copy of the wrapper server.
func (c *Config) Pod(name string, pull *Pull, method injection.Method) *corev1.Pod {
	labels := publish.Labels()
	labels[functionpod.WarmerLabel] = c.Run
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.Namespace, Labels: labels,
			Annotations: map[string]string{
				functionpod.ReferenceAnnotation:                  strings.Join(pull.References, ","),
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
			},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         new(int64(math.Ceil(c.Timeout.Seconds()))),
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Affinity:                      onNode(pull.Node),
			Tolerations:                   c.Tolerations,
			SecurityContext:               functionpod.PodSecurity(),
		},
	}
	if c.User == functionpod.UserAssigned {
		pod.Spec.SecurityContext = functionpod.AssignedPodSecurity()
	}
	for _, secret := range c.PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	if method == injection.ImageVolume {
		pod.Spec.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: pull.Image, PullPolicy: corev1.PullIfNotPresent},
		}}}
		pod.Spec.Containers = []corev1.Container{newContainer(container, c.WrapperImage, functionDir, true, injection.ImageDir+"/wrapper-server", "--help")}
		return pod
	}
	pod.Spec.Volumes = []corev1.Volume{{Name: volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.InitContainers = []corev1.Container{
		newContainer("copy-wrapper-server", c.WrapperImage, injection.ToolsDir, false, "cp", "-a", injection.ImageDir+"/.", injection.ToolsDir),
	}
	pod.Spec.Containers = []corev1.Container{newContainer(container, pull.Image, injection.ToolsDir, true, injection.ToolsDir+"/wrapper-server", "--help")}
	return pod
}

func newContainer(name, image, mountPath string, readOnly bool, command ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, Command: command,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: volume, MountPath: mountPath, ReadOnly: readOnly}},
		SecurityContext:          functionpod.ContainerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}
}

// onNode requires a node by affinity and not by nodeName, so that the scheduler checks taints and resources.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}
