// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package fieldspecs lists fields of Kubernetes' built-in kinds.
package fieldspecs

import (
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
)

// PodSpecs are the pod specs in Kubernetes' built-in kinds.
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

// NameReference is a field that contains the name of another resource.
type NameReference struct {
	Target  resid.Gvk // empty fields match anything
	Field   types.FieldSpec
	RuleFor string // if Field is the rules of a Role: the target's resource name in rules
}

// NameReferences returns the name references in Kubernetes' built-in kinds, by the kind that has the field.
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

// fieldsInPods returns fields of pod specs, for all kinds with a pod spec.
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

// rulesNaming returns the references in the rules of roles, whose resourceNames refer to resources.
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
