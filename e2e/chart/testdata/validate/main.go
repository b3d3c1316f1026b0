// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command validate checks manifests with the code of Kubernetes' API server: strict decoding, defaults, and the validation of a create
// request. It reads a JSON list of manifests on standard input, and writes a JSON list with the error of each, or "", on standard output.
// It is in testdata because it is built with the go.mod file of the node image, the only one that requires k8s.io/kubernetes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
)

// strategies holds the create strategies of the API server, by kind.
var strategies = map[string]rest.RESTCreateStrategy{
	"ClusterRole": clusterrole.Strategy, "ClusterRoleBinding": clusterrolebinding.Strategy, "ConfigMap": configmap.Strategy, "CronJob": cronjob.Strategy,
	"Deployment": deployment.Strategy, "HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy, "Job": job.Strategy, "LimitRange": limitrange.Strategy,
	"Namespace": namespace.Strategy, "NetworkPolicy": networkpolicy.Strategy, "Pod": pod.Strategy, "PodDisruptionBudget": poddisruptionbudget.Strategy,
	"ResourceQuota": resourcequota.Strategy, "Role": role.Strategy, "RoleBinding": rolebinding.Strategy, "Secret": secret.Strategy,
	"Service": service.Strategy, "ServiceAccount": serviceaccount.Strategy,
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "validate:", err)
		os.Exit(1)
	}
}

func run() error {
	var manifests []string
	if err := json.NewDecoder(os.Stdin).Decode(&manifests); err != nil {
		return err
	}
	decoder := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()
	problems := make([]string, len(manifests))
	for i, manifest := range manifests {
		if err := validate(decoder, []byte(manifest)); err != nil {
			problems[i] = err.Error()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(problems)
}

func validate(decoder runtime.Decoder, manifest []byte) error {
	object, kind, err := decoder.Decode(manifest, nil, nil)
	if err != nil {
		return err
	}
	strategy := strategies[kind.Kind]
	if strategy == nil {
		return fmt.Errorf("%s is unknown: add its strategy", kind)
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if s, ok := object.(*core.Service); ok && s.Spec.ClusterIP != "" {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP} // The storage of Services sets the one from the other.
	}
	rest.FillObjectMetaSystemFields(metadata)
	ctx := request.WithNamespace(context.Background(), metadata.GetNamespace())
	resource, _ := meta.UnsafeGuessKindToResource(*kind)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: kind.Group, APIVersion: kind.Version, Resource: resource.Resource, Verb: "create"})
	return rest.BeforeCreate(strategy, ctx, object)
}
