// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podtemplate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// Values are the inputs that a template needs to build the pods of one function.
type Values struct {
	// Reference is the requested image. Image is the image that the pods run, by digest, so that all pods of a pool run the same image.
	Reference, Image string
	// Digest is the digest that the reference had when the pool was created.
	Digest string
	// Command is the image's entrypoint and command.
	Command []string
	// User is the user in the image's configuration: a number or a name, with or without a group. Empty means none.
	User string
	// Platforms are the platforms that the image is built for, such as "linux/amd64". Empty means unknown.
	Platforms []string
	// AvoidNodes are the nodes that pods should avoid if possible.
	AvoidNodes []string
	// TTL is the maximum idle time of the pods.
	TTL time.Duration
	// Pool is the hash of the pool.
	Pool string
	// MaxMessageSize is the maximum size of a message to the wrapper server, in bytes.
	MaxMessageSize int
	// MaxConcurrent is the maximum number of concurrent calls in the wrapper server. 0 means its default.
	MaxConcurrent int
	// StandbyProcesses is the number of standby processes in the wrapper server. Nil means its default.
	StandbyProcesses *int
	// Declared replaces the labels of the image that declare traits. Traits are the resulting traits.
	Declared map[string]string
	Traits   traits.Traits
	// Overrides replace fields of the template. Nil means none.
	Overrides *functionconfig.Overrides
	// Patches are merged into the result of the template and the overrides.
	Patches []podpatch.Patch
	// Resources replace the resources of the template and of the overrides where they are set.
	Resources corev1.ResourceRequirements
	// PullSecrets are added to the pull secrets of the template.
	PullSecrets []string
	// ByReference makes the container use Reference instead of Image. The node then resolves the reference at each start.
	ByReference bool
}

// Build returns the pod of a function with an ordinal, and its Service. Both get the given name.
func (t *Template) Build(v *Values, namespace, name string, ordinal int) (*corev1.Pod, *corev1.Service, error) {
	if len(v.Command) == 0 {
		return nil, nil, fmt.Errorf("image %s has neither entrypoint nor command: it is no function", v.Reference)
	}
	pod, err := t.base(v)
	if err != nil {
		return nil, nil, fmt.Errorf("function pods of image %s: %w", v.Reference, err)
	}
	pod.TypeMeta = metav1.TypeMeta{}
	pod.Name, pod.Namespace = name, namespace
	pod.Labels = with(pod.Labels, map[string]string{functionpod.ImageLabel: name, functionpod.PoolLabel: v.Pool, functionpod.OrdinalLabel: strconv.Itoa(ordinal)})
	pod.Annotations = with(pod.Annotations, map[string]string{
		functionpod.TemplateAnnotation: t.VersionFor(v), functionpod.TTLAnnotation: v.TTL.String(),
		functionpod.ReferenceAnnotation: v.Reference, functionpod.DigestAnnotation: v.Digest,
	})
	container := FunctionOf(pod)
	container.Image = v.Image
	if v.ByReference {
		container.Image = v.Reference
		// The node may have an outdated image for the tag.
		container.ImagePullPolicy = cmp.Or(container.ImagePullPolicy, corev1.PullAlways)
	}
	container.Args = append(container.Args, "--port", strconv.Itoa(Port), "--max-request-body-size", strconv.Itoa(v.MaxMessageSize))
	if v.MaxConcurrent > 0 {
		container.Args = append(container.Args, "--max-concurrent-evaluations", strconv.Itoa(v.MaxConcurrent))
	}
	container.Args = append(container.Args, v.processes()...)
	container.Args = append(container.Args, "--")
	container.Args = append(container.Args, v.Command...)
	overrideContainer(container, &functionconfig.ContainerOverrides{Requests: v.Resources.Requests, Limits: v.Resources.Limits})
	container.Env = append(slices.DeleteFunc(container.Env, isIdentity), v.identity(t.authorities)...)
	if t.imageUser && (v.Overrides == nil || v.Overrides.SecurityContext == nil) {
		v.user(pod.Spec.SecurityContext)
	}
	for _, secret := range v.PullSecrets {
		if ref := (corev1.LocalObjectReference{Name: secret}); !slices.Contains(pod.Spec.ImagePullSecrets, ref) {
			pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, ref)
		}
	}
	place(&pod.Spec, v.Platforms)
	avoid(&pod.Spec, v.AvoidNodes)
	return pod, t.service(v, namespace, name, ordinal), nil
}

// base returns a copy of the template's pod with overrides and patches. Build sets the mandatory fields afterwards, so that neither can
// remove them.
func (t *Template) base(v *Values) (*corev1.Pod, error) {
	pod := t.Pod.DeepCopy()
	if v.Overrides != nil {
		override(pod, v.Overrides)
	}
	return podpatch.Apply(pod, v.Patches...)
}

// processes returns the flags that control the function's processes. It omits defaults, because a template may contain Porch's wrapper
// server, which does not support the flags.
func (v *Values) processes() (args []string) {
	standby := v.StandbyProcesses
	if v.Traits.NoStandby {
		standby = new(0)
	}
	if standby != nil {
		args = append(args, "--standby-processes", strconv.Itoa(*standby))
	}
	if v.Traits.Worker {
		args = append(args, "--worker")
	}
	return args
}

func (t *Template) service(v *Values, namespace, name string, ordinal int) *corev1.Service {
	service := t.Service.DeepCopy()
	service.TypeMeta = metav1.TypeMeta{}
	service.Name, service.Namespace, service.GenerateName = name, namespace, ""
	service.Labels = with(service.Labels, map[string]string{
		"app.kubernetes.io/name": name, functionpod.PoolLabel: v.Pool, functionpod.OrdinalLabel: strconv.Itoa(ordinal),
	})
	service.Spec.Selector = with(service.Spec.Selector, map[string]string{functionpod.ImageLabel: name})
	return service
}

// identity returns the variables that identify the pod and the function to the wrapper server, which rejects requests that are addressed
// to others.
func (v *Values) identity(authorities string) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: wrapperapi.PodUIDVariable, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"}}},
		{Name: wrapperapi.FunctionVariable, Value: wrapperapi.FunctionName(v.Reference, v.Digest)},
	}
	if authorities != "" {
		env = append(env, corev1.EnvVar{Name: wrapperapi.AuthoritiesVariable, Value: authorities})
	}
	return env
}

func isIdentity(v corev1.EnvVar) bool {
	return v.Name == wrapperapi.PodUIDVariable || v.Name == wrapperapi.FunctionVariable || v.Name == wrapperapi.AuthoritiesVariable
}

// user sets the image's user if it is a number other than 0. The kubelet cannot verify that a user name is not root.
func (v *Values) user(context *corev1.PodSecurityContext) {
	user, group, _ := strings.Cut(v.User, ":")
	uid, err := strconv.ParseInt(user, 10, 32)
	if err != nil || uid <= 0 {
		return
	}
	context.RunAsUser = &uid
	if gid, err := strconv.ParseInt(group, 10, 32); err == nil && gid > 0 {
		context.RunAsGroup = &gid
	}
}

func with(before, added map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, before)
	maps.Copy(all, added)
	return all
}

// HasInitContainer reports whether pods have an init container.
func (t *Template) HasInitContainer() bool { return len(t.Pod.Spec.InitContainers) > 0 }

// override applies overrides to a pod. It ignores InitContainer if the pod has no init container.
func override(pod *corev1.Pod, o *functionconfig.Overrides) {
	if o.ServiceAccountName != "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = o.ServiceAccountName, ""
	}
	if o.SecurityContext != nil {
		pod.Spec.SecurityContext = o.SecurityContext.DeepCopy()
	}
	if len(pod.Spec.InitContainers) > 0 {
		overrideContainer(&pod.Spec.InitContainers[0], &o.InitContainer)
	}
	overrideContainer(FunctionOf(pod), &o.Container)
}

func overrideContainer(c *corev1.Container, o *functionconfig.ContainerOverrides) {
	if o.Requests != nil {
		c.Resources.Requests = o.Requests.DeepCopy()
	}
	if o.Limits != nil {
		c.Resources.Limits = o.Limits.DeepCopy()
	}
	if o.EnvFrom != nil {
		c.EnvFrom = slices.Clone(o.EnvFrom)
	}
	if o.Env != nil {
		c.Env = slices.Clone(o.Env)
	}
}

// place restricts a pod to nodes with a platform of its image, in addition to the node affinity of the template.
func place(spec *corev1.PodSpec, platforms []string) {
	systems, architectures := split(platforms)
	if len(systems) == 0 {
		return
	}
	wanted := []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: systems},
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: architectures},
	}
	affinity := nodeAffinity(spec)
	if affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	// A node must match one of the terms, so the requirements are added to each term.
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, wanted...)
	}
}

// avoid makes a pod prefer other nodes than the given ones.
func avoid(spec *corev1.PodSpec, nodes []string) {
	for _, node := range nodes {
		affinity := nodeAffinity(spec)
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight: 100,
			Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}},
			}},
		})
	}
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return spec.Affinity.NodeAffinity
}

// split returns the operating systems and the architectures of platforms, in the form of node labels. It ignores variants of
// architectures, because nodes have no labels for them. The container runtime selects the variant.
func split(platforms []string) (systems, architectures []string) {
	s, a := sets.New[string](), sets.New[string]()
	for _, platform := range platforms {
		system, rest, _ := strings.Cut(platform, "/")
		architecture, _, _ := strings.Cut(rest, "/")
		if system != "" && architecture != "" {
			s.Insert(system)
			a.Insert(architecture)
		}
	}
	return sets.List(s), sets.List(a)
}
