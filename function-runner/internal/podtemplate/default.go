// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/cluster/injection"
)

const (
	toolsVolume = "wrapper-server-tools"
	tmpVolume   = "tmp"
)

// tmpSize is the most that a function may write to files.
var tmpSize = resource.MustParse("256Mi")

// Default returns the template for where none is given. The wrapper server gets env; functions do not.
func Default(wrapperImage string, method injection.Method, env ...corev1.EnvVar) (*Template, error) {
	t := &Template{
		imageUser: true,
		Pod: corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}},
			Spec: corev1.PodSpec{
				Containers:                   []corev1.Container{functionContainer(env)},
				Volumes:                      []corev1.Volume{{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &tmpSize}}}},
				AutomountServiceAccountToken: new(false),
				EnableServiceLinks:           new(false),
				SecurityContext:              functionpod.PodSecurity(),
			},
		},
		Service: corev1.Service{Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{Port: Port, TargetPort: intstr.FromInt32(Port), Protocol: corev1.ProtocolTCP}},
			// The function runner asks the pod itself, and the kubelet may take seconds longer to find out.
			PublishNotReadyAddresses: true,
		}},
	}
	t.inject(wrapperImage, method)
	return t.versioned()
}

// telemetry is what pod templates of Porch say.
var telemetry = []corev1.EnvVar{
	{Name: "OTEL_METRICS_EXPORTER", Value: "prometheus"},
	{Name: "OTEL_TRACES_EXPORTER", Value: "none"},
	{Name: "OTEL_EXPORTER_PROMETHEUS_HOST", Value: "0.0.0.0"},
}

func functionContainer(env []corev1.EnvVar) corev1.Container {
	return corev1.Container{
		Name: FunctionContainer,
		// What the wrapper server says before it fails to start is told to the caller.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Env: slices.Concat(slices.DeleteFunc(slices.Clone(telemetry), func(t corev1.EnvVar) bool {
			return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == t.Name })
		}), env),
		VolumeMounts:    []corev1.VolumeMount{{Name: toolsVolume, MountPath: ToolsDir, ReadOnly: true}, {Name: tmpVolume, MountPath: "/tmp"}},
		SecurityContext: functionpod.ContainerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		ReadinessProbe: healthProbe(5, 5),
		LivenessProbe:  healthProbe(30, 10),
	}
}

// healthProbe asks the wrapper server itself. The function runner does not wait for it, but asks too.
func healthProbe(period, timeout int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: Port}},
		PeriodSeconds: period, TimeoutSeconds: timeout,
	}
}

// inject brings the wrapper server to ToolsDir, and has the function's container start it.
func (t *Template) inject(wrapperImage string, method injection.Method) {
	spec, function := &t.Pod.Spec, t.function()
	if method == injection.ImageVolume {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: toolsVolume, VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: wrapperImage},
		}})
		function.Command = []string{ToolsDir + injection.ImageDir + "/wrapper-server"}
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: toolsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	spec.InitContainers = []corev1.Container{{
		Name:                     "copy-wrapper-server",
		Image:                    wrapperImage,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Command:                  []string{"cp", "-a", injection.ImageDir + "/.", ToolsDir},
		VolumeMounts:             []corev1.VolumeMount{{Name: toolsVolume, MountPath: ToolsDir}},
		SecurityContext:          functionpod.ContainerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("64Mi")},
		},
	}}
	function.Command = []string{ToolsDir + "/wrapper-server"}
}

// HasImageVolume tells whether a pod has the wrapper server from an image volume.
func HasImageVolume(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == toolsVolume && v.Image != nil })
}
