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
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// Values are what a template needs to know to make the pods of one function.
type Values struct {
	// Reference is the image as it was asked for, and Image the one that runs: by digest, so that it is the same one for all
	// pods of a pool.
	Reference, Image string
	// Digest is the digest that the reference stood for when the pool was made.
	Digest string
	// Command is the image's entrypoint and command.
	Command []string
	// User is the image's own user, as its configuration has it: a number, a name, with or without a group; "" for none.
	User string
	// Platforms are those that the image is built for, as "linux/amd64"; none where that is not known.
	Platforms []string
	// AvoidNodes are those that pods should not go to where others will do.
	AvoidNodes []string
	// TTL is how long the pods may be idle.
	TTL time.Duration
	// Pool is the hash of the pool.
	Pool string
	// MaxMessageSize is the most bytes of one message that the wrapper server takes.
	MaxMessageSize int
	// MaxConcurrent is how many calls the wrapper server runs at once; 0 leaves it at its own default.
	MaxConcurrent int
	// StandbyProcesses is how many processes the wrapper server starts ahead of their calls; nil leaves it at its own default.
	StandbyProcesses *int
	// Declared is what is declared in place of the labels of the image, and Traits what holds of it then.
	Declared map[string]string
	Traits   traits.Traits
	// Overrides take the place of what the template says; nil for none.
	Overrides *Overrides
	// Patches are merged into what the template and the overrides say.
	Patches []podpatch.Patch
	// Resources take the place of the template's and of the overrides', where they are set.
	Resources corev1.ResourceRequirements
	// PullSecrets are added to those of the template, unless it names them.
	PullSecrets []string
	// ByReference has the container name its image by Reference, which the node resolves at each start, and not by digest.
	ByReference bool
}

// Build returns the pod of a function in a slot, and its Service, both with the name given.
func (t *Template) Build(v *Values, namespace, name string, slot int) (*corev1.Pod, *corev1.Service, error) {
	if len(v.Command) == 0 {
		return nil, nil, fmt.Errorf("image %s has neither entrypoint nor command: it is no function", v.Reference)
	}
	pod, err := t.base(v)
	if err != nil {
		return nil, nil, fmt.Errorf("function pods of image %s: %w", v.Reference, err)
	}
	pod.TypeMeta = metav1.TypeMeta{}
	pod.Name, pod.Namespace = name, namespace
	pod.Labels = with(pod.Labels, map[string]string{functionpod.ImageLabel: name, functionpod.PoolLabel: v.Pool, functionpod.SlotLabel: strconv.Itoa(slot)})
	pod.Annotations = with(pod.Annotations, map[string]string{
		functionpod.TemplateAnnotation: t.VersionFor(v), functionpod.TTLAnnotation: v.TTL.String(),
		functionpod.ReferenceAnnotation: v.Reference, functionpod.DigestAnnotation: v.Digest,
	})
	container := FunctionOf(pod)
	container.Image = v.Image
	if v.ByReference {
		container.Image = v.Reference
		// What a node keeps under a tag may be older than what the tag means now.
		container.ImagePullPolicy = cmp.Or(container.ImagePullPolicy, corev1.PullAlways)
	}
	container.Args = append(container.Args, "--port", strconv.Itoa(Port), "--max-request-body-size", strconv.Itoa(v.MaxMessageSize))
	if v.MaxConcurrent > 0 {
		container.Args = append(container.Args, "--max-concurrent-evaluations", strconv.Itoa(v.MaxConcurrent))
	}
	container.Args = append(container.Args, v.processes()...)
	container.Args = append(container.Args, "--")
	container.Args = append(container.Args, v.Command...)
	(&ContainerOverrides{Requests: v.Resources.Requests, Limits: v.Resources.Limits}).apply(container)
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
	return pod, t.service(v, namespace, name, slot), nil
}

// base returns a copy of the template's pod with what others say about it. What a pod must have comes after that, so that nobody can
// take it away.
func (t *Template) base(v *Values) (*corev1.Pod, error) {
	pod := t.Pod.DeepCopy()
	if v.Overrides != nil {
		v.Overrides.apply(pod)
	}
	return podpatch.Apply(pod, v.Patches...)
}

// processes returns the flags that say how the wrapper server runs the function. What is its default is not said: a wrapper server of
// Porch's, which a template may have, does not know the flags.
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

func (t *Template) service(v *Values, namespace, name string, slot int) *corev1.Service {
	service := t.Service.DeepCopy()
	service.TypeMeta = metav1.TypeMeta{}
	service.Name, service.Namespace, service.GenerateName = name, namespace, ""
	service.Labels = with(service.Labels, map[string]string{
		"app.kubernetes.io/name": name, functionpod.PoolLabel: v.Pool, functionpod.SlotLabel: strconv.Itoa(slot),
	})
	service.Spec.Selector = with(service.Spec.Selector, map[string]string{functionpod.ImageLabel: name})
	return service
}

// identity returns the variables by which the wrapper server knows which pod of which function it is in. It refuses requests
// that are meant for another.
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

// user runs the function as the image's own user if that is a number other than 0. The kubelet cannot tell whether a name is
// root.
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

// Overrides take the place of what the template says. What is not set is left to the template. They are not changed.
type Overrides struct {
	// ServiceAccountName is whom the pod runs as.
	ServiceAccountName string
	// SecurityContext is the pod's. The image's own user is left to it.
	SecurityContext *corev1.PodSecurityContext
	// InitContainer is for the first init container, and Container for the function's.
	InitContainer, Container ContainerOverrides
}

// ContainerOverrides are those of one container. Nothing in them is merged with what the template says.
type ContainerOverrides struct {
	// Requests and Limits are of its resources.
	Requests, Limits corev1.ResourceList
	EnvFrom          []corev1.EnvFromSource
	Env              []corev1.EnvVar
}

// IsZero tells whether nothing is set. What is empty is: it leaves nothing of what the template says.
func (o *ContainerOverrides) IsZero() bool {
	return o.Requests == nil && o.Limits == nil && o.EnvFrom == nil && o.Env == nil
}

// HasInitContainer tells whether pods have an init container.
func (t *Template) HasInitContainer() bool { return len(t.Pod.Spec.InitContainers) > 0 }

// apply changes a pod. What is for an init container has no effect where there is none.
func (o *Overrides) apply(pod *corev1.Pod) {
	if o.ServiceAccountName != "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = o.ServiceAccountName, ""
	}
	if o.SecurityContext != nil {
		pod.Spec.SecurityContext = o.SecurityContext.DeepCopy()
	}
	if len(pod.Spec.InitContainers) > 0 {
		o.InitContainer.apply(&pod.Spec.InitContainers[0])
	}
	o.Container.apply(FunctionOf(pod))
}

func (o *ContainerOverrides) apply(c *corev1.Container) {
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

// place keeps a pod away from nodes whose platform its image is not built for. The node affinity of the template holds as well.
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
	// A node has to fulfil one of the terms, so each gets what all have to.
	terms := affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, wanted...)
	}
}

// avoid has a pod go to other nodes than some if it can.
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

// split returns the operating systems and the architectures of platforms, as labels of nodes have them. Variants of
// architectures are in no label: the container runtime sees to them.
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
