// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package fieldspecs knows fields of Kubernetes' own kinds.
package fieldspecs

import (
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// PodSpecs are the fields of Kubernetes' own kinds that say what pods are to be like.
var PodSpecs = []types.FieldSpec{
	{Gvk: resid.Gvk{Kind: "Pod"}, Path: "spec"},
	{Gvk: resid.Gvk{Kind: "PodTemplate"}, Path: "template/spec"},
	{Gvk: resid.Gvk{Version: "v1", Kind: "ReplicationController"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Kind: "Deployment"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Kind: "ReplicaSet"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Kind: "DaemonSet"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Kind: "StatefulSet"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Group: "batch", Kind: "Job"}, Path: "spec/template/spec"},
	{Gvk: resid.Gvk{Group: "batch", Kind: "CronJob"}, Path: "spec/jobTemplate/spec/template/spec"},
}

// NameReference is a field that refers to a resource of a kind by its name.
type NameReference struct {
	Target  resid.Gvk // what is empty may be anything
	Field   types.FieldSpec
	RuleFor string // where the field is the rules of a Role: what they call the target's kind
}

// NameReferences returns the fields of Kubernetes' own kinds that refer to others, by the kind that has them.
var NameReferences = sync.OnceValue(func() map[string][]NameReference {
	return byReferrer(
		referencesTo(coreKind("ConfigMap"), fieldsInPods(
			"volumes/configMap/name", "volumes/projected/sources/configMap/name",
			"containers/env/valueFrom/configMapKeyRef/name", "containers/envFrom/configMapRef/name",
			"initContainers/env/valueFrom/configMapKeyRef/name", "initContainers/envFrom/configMapRef/name",
		)...),
		referencesTo(coreKind("ConfigMap"),
			fieldIn("Node", "spec/configSource/configMap"),
			fieldIn("Ingress", `metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap`),
		),
		rulesNaming(coreKind("ConfigMap"), "configmaps", "Role", "ClusterRole"),

		referencesTo(coreKind("Secret"), fieldsInPods(
			"volumes/secret/secretName", "volumes/projected/sources/secret/name", "imagePullSecrets/name",
			"containers/env/valueFrom/secretKeyRef/name", "containers/envFrom/secretRef/name",
			"initContainers/env/valueFrom/secretKeyRef/name", "initContainers/envFrom/secretRef/name",
		)...),
		referencesTo(coreKind("Secret"),
			fieldIn("Ingress", "spec/tls/secretName"),
			fieldIn("Ingress", `metadata/annotations/ingress.kubernetes.io\/auth-secret`),
			fieldIn("Ingress", `metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret`),
			fieldIn("Ingress", `metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret`),
			fieldIn("ServiceAccount", "imagePullSecrets/name"),
			fieldIn("StorageClass", "parameters/secretName"),
			fieldIn("StorageClass", "parameters/adminSecretName"),
			fieldIn("StorageClass", "parameters/userSecretName"),
			fieldIn("StorageClass", "parameters/secretRef"),
			fieldIn("PersistentVolume", "spec/azureFile/secretName"),
			fieldInGroup("serving.knative.dev", "Service", "spec/template/spec/containers/env/valueFrom/secretKeyRef/name"),
		),
		rulesNaming(coreKind("Secret"), "secrets", "Role", "ClusterRole"),

		referencesTo(coreKind("Service"),
			fieldInGroup("apps", "StatefulSet", "spec/serviceName"),
			fieldIn("Ingress", "spec/rules/http/paths/backend/serviceName"),
			fieldIn("Ingress", "spec/rules/http/paths/backend/service/name"),
			fieldIn("Ingress", "spec/backend/serviceName"),
			fieldIn("Ingress", "spec/defaultBackend/service/name"),
			fieldInGroup("apiregistration.k8s.io", "APIService", "spec/service/name"),
			fieldInGroup("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "webhooks/clientConfig/service"),
			fieldInGroup("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "webhooks/clientConfig/service"),
		),

		referencesTo(resid.Gvk{Kind: "Deployment"}, fieldIn("HorizontalPodAutoscaler", "spec/scaleTargetRef")),
		referencesTo(resid.Gvk{Kind: "ReplicationController"}, fieldIn("HorizontalPodAutoscaler", "spec/scaleTargetRef")),
		referencesTo(resid.Gvk{Kind: "ReplicaSet"}, fieldIn("HorizontalPodAutoscaler", "spec/scaleTargetRef")),
		referencesTo(resid.Gvk{Kind: "StatefulSet"}, fieldIn("HorizontalPodAutoscaler", "spec/scaleTargetRef")),

		referencesTo(resid.Gvk{Group: rbac, Kind: "Role"}, fieldInGroup(rbac, "RoleBinding", "roleRef")),
		referencesTo(resid.Gvk{Group: rbac, Kind: "ClusterRole"},
			fieldInGroup(rbac, "RoleBinding", "roleRef"), fieldInGroup(rbac, "ClusterRoleBinding", "roleRef")),
		referencesTo(coreKind("ServiceAccount"), fieldsInPods("serviceAccountName")...),
		referencesTo(coreKind("ServiceAccount"),
			fieldInGroup(rbac, "RoleBinding", "subjects"), fieldInGroup(rbac, "ClusterRoleBinding", "subjects")),

		referencesTo(coreKind("PersistentVolumeClaim"), fieldsInPods("volumes/persistentVolumeClaim/claimName")...),
		referencesTo(coreKind("PersistentVolume"), fieldIn("PersistentVolumeClaim", "spec/volumeName")),
		rulesNaming(coreKind("PersistentVolume"), "persistentvolumes", "ClusterRole"),
		referencesTo(resid.Gvk{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
			fieldIn("PersistentVolume", "spec/storageClassName"),
			fieldIn("PersistentVolumeClaim", "spec/storageClassName"),
			fieldIn("StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
		),
		referencesTo(resid.Gvk{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, fieldsInPods("priorityClassName")...),
		referencesTo(resid.Gvk{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}, fieldIn("Ingress", "spec/ingressClassName")),
	)
})

const rbac = "rbac.authorization.k8s.io"

func coreKind(kind string) resid.Gvk { return resid.Gvk{Version: "v1", Kind: kind} }

func fieldIn(kind, path string) types.FieldSpec { return fieldInGroup("", kind, path) }

func fieldInGroup(group, kind, path string) types.FieldSpec {
	return types.FieldSpec{Gvk: resid.Gvk{Group: group, Kind: kind}, Path: path}
}

// fieldsInPods are fields of pods, wherever there is one.
func fieldsInPods(paths ...string) []types.FieldSpec {
	fields := make([]types.FieldSpec, 0, len(PodSpecs)*len(paths))
	for _, spec := range PodSpecs {
		for _, path := range paths {
			fields = append(fields, types.FieldSpec{Gvk: spec.Gvk, Path: spec.Path + "/" + path})
		}
	}
	return fields
}

func referencesTo(target resid.Gvk, fields ...types.FieldSpec) []NameReference {
	references := make([]NameReference, 0, len(fields))
	for _, field := range fields {
		references = append(references, NameReference{Target: target, Field: field})
	}
	return references
}

// rulesNaming are the references in the rules of roles, which may name the resources that they are about.
func rulesNaming(target resid.Gvk, resources string, kinds ...string) []NameReference {
	references := make([]NameReference, 0, len(kinds))
	for _, kind := range kinds {
		references = append(references, NameReference{Target: target, Field: fieldIn(kind, "rules"), RuleFor: resources})
	}
	return references
}

func byReferrer(references ...[]NameReference) map[string][]NameReference {
	byKind := map[string][]NameReference{}
	for _, reference := range slices.Concat(references...) {
		byKind[reference.Field.Kind] = append(byKind[reference.Field.Kind], reference)
	}
	return byKind
}
