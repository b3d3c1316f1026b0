// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ensurenamesubstring

import (
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestNameReferences(t *testing.T) {
	t.Parallel()
	cases := []functiontest.Case{
		{
			Name: "references of a pod",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}, imagePullSecrets: [{name: s}]}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
  spec:
    template:
      spec:
        serviceAccountName: sa # kpt-set: ${sa}
        priorityClassName: p
        imagePullSecrets: [{name: 's'}]
        volumes:
        - configMap: {name: c}
        - secret: {secretName: s}
        - persistentVolumeClaim: {claimName: v}
        - projected: {sources: [{configMap: {name: c}}, {secret: {name: s}}]}
        containers:
        - name: c
          env:
          - {name: c, valueFrom: {configMapKeyRef: {name: c, key: c}}}
          - {name: s, valueFrom: {secretKeyRef: {name: s, key: c}}}
          envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}, {configMapRef: {name: other}}]
        initContainers:
        - env: [{valueFrom: {configMapKeyRef: {name: c}}}]
          envFrom: [{secretRef: {name: s}}]
- {apiVersion: v1, kind: ReplicationController, metadata: {name: r}, spec: {template: {spec: {volumes: [{configMap: {name: c}}]}}}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {template: {spec: {serviceAccountName: sa}}}}
- {apiVersion: batch/v1, kind: CronJob, metadata: {name: r}, spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: sa}}}}}}
`,
			Want: `
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-c}}
- {apiVersion: v1, kind: Secret, metadata: {name: pre-s}}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: pre-sa}, imagePullSecrets: [{name: pre-s}]}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pre-v}}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: pre-p}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: pre-d}
  spec:
    template:
      spec:
        serviceAccountName: pre-sa # kpt-set: ${sa}
        priorityClassName: pre-p
        imagePullSecrets: [{name: 'pre-s'}]
        volumes:
        - configMap: {name: pre-c}
        - secret: {secretName: pre-s}
        - persistentVolumeClaim: {claimName: pre-v}
        - projected: {sources: [{configMap: {name: pre-c}}, {secret: {name: pre-s}}]}
        containers:
        - name: c
          env:
          - {name: c, valueFrom: {configMapKeyRef: {name: pre-c, key: c}}}
          - {name: s, valueFrom: {secretKeyRef: {name: pre-s, key: c}}}
          envFrom: [{configMapRef: {name: pre-c}}, {secretRef: {name: pre-s}}, {configMapRef: {name: other}}]
        initContainers:
        - env: [{valueFrom: {configMapKeyRef: {name: pre-c}}}]
          envFrom: [{secretRef: {name: pre-s}}]
- {apiVersion: v1, kind: ReplicationController, metadata: {name: pre-r}, spec: {template: {spec: {volumes: [{configMap: {name: pre-c}}]}}}}
- {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: pre-r}, spec: {template: {spec: {serviceAccountName: pre-sa}}}}
- {apiVersion: batch/v1, kind: CronJob, metadata: {name: pre-r}, spec: {jobTemplate: {spec: {template: {spec: {serviceAccountName: pre-sa}}}}}}
`,
		},
		{
			Name: "references of roles",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, namespace: n}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: n}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: c}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cr}, rules: [{resources: [persistentvolumes/status], resourceNames: [c]}, {resources: ['*'], resourceNames: [c]}, {resources: [pods], resourceNames: [c]}]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: r, namespace: n}
  rules:
  - resources: [configmaps]
    resourceNames:
    - "c" # kept
    - other
  - resources: [secrets]
    resourceNames: [c]
  - resources: [configmaps]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: b, namespace: other}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cr}
  subjects:
  - {kind: ServiceAccount, name: sa, namespace: n}
  - {kind: ServiceAccount, name: sa, namespace: other}
  - {kind: User, name: sa}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: e, namespace: n}, roleRef: {kind: Role, name: r}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: f, namespace: n}, roleRef: {kind: Role, name: cr}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: g}, roleRef: {kind: ClusterRole, name: cr}, subjects: [{kind: ServiceAccount, name: sa, namespace: n}]}
`,
			Want: `
items:
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: pre-sa, namespace: n}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: pre-c, namespace: n}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pre-c}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: pre-cr}, rules: [{resources: [persistentvolumes/status], resourceNames: [pre-c]}, {resources: ['*'], resourceNames: [pre-c]}, {resources: [pods], resourceNames: [c]}]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: pre-r, namespace: n}
  rules:
  - resources: [configmaps]
    resourceNames:
    - "pre-c" # kept
    - other
  - resources: [secrets]
    resourceNames: [c]
  - resources: [configmaps]
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: pre-b, namespace: other}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: pre-cr}
  subjects:
  - {kind: ServiceAccount, name: pre-sa, namespace: n}
  - {kind: ServiceAccount, name: sa, namespace: other}
  - {kind: User, name: sa}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: pre-e, namespace: n}, roleRef: {kind: Role, name: pre-r}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: pre-f, namespace: n}, roleRef: {kind: Role, name: cr}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: pre-g}, roleRef: {kind: ClusterRole, name: pre-cr}, subjects: [{kind: ServiceAccount, name: pre-sa, namespace: n}]}
`,
		},
		{
			Name: "references to services and others",
			Config: `
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {prepend: pre-}
`,
			Items: `
- {apiVersion: v1, kind: Service, metadata: {name: s, namespace: n}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: n}}
- {apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: ic}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, parameters: {secretName: s}}
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: i, namespace: n, annotations: {nginx.ingress.kubernetes.io/auth-secret: s}}
  spec:
    ingressClassName: ic
    tls: [{secretName: s}]
    defaultBackend: {service: {name: s}}
    rules: [{http: {paths: [{backend: {service: {name: s}}}, {backend: {serviceName: s}}]}}]
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: other, namespace: m}, spec: {defaultBackend: {service: {name: s}}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: w, namespace: n}
  spec: {serviceName: s, volumeClaimTemplates: [{spec: {storageClassName: sc}}]}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: n}, spec: {scaleTargetRef: {kind: StatefulSet, name: w}}}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: k, namespace: n}, spec: {scaleTargetRef: {kind: Deployment, name: w}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: v}
  webhooks:
  - clientConfig: {service: {name: s, namespace: n}}
  - clientConfig: {service: {name: s, namespace: m}}
  - clientConfig: {url: 'https://s'}
`,
			Want: `
items:
- {apiVersion: v1, kind: Service, metadata: {name: pre-s, namespace: n}}
- {apiVersion: v1, kind: Secret, metadata: {name: pre-s, namespace: n}}
- {apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: pre-ic}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: pre-sc}, parameters: {secretName: pre-s}}
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: pre-i, namespace: n, annotations: {nginx.ingress.kubernetes.io/auth-secret: pre-s}}
  spec:
    ingressClassName: pre-ic
    tls: [{secretName: pre-s}]
    defaultBackend: {service: {name: pre-s}}
    rules: [{http: {paths: [{backend: {service: {name: pre-s}}}, {backend: {serviceName: pre-s}}]}}]
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: pre-other, namespace: m}, spec: {defaultBackend: {service: {name: s}}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: pre-w, namespace: n}
  spec: {serviceName: pre-s, volumeClaimTemplates: [{spec: {storageClassName: pre-sc}}]}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: pre-h, namespace: n}, spec: {scaleTargetRef: {kind: StatefulSet, name: pre-w}}}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: pre-k, namespace: n}, spec: {scaleTargetRef: {kind: Deployment, name: w}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: pre-v}
  webhooks:
  - clientConfig: {service: {name: pre-s, namespace: n}}
  - clientConfig: {service: {name: s, namespace: m}}
  - clientConfig: {url: 'https://s'}
`,
		},
	}
	functiontest.EvaluateAll(t, Function, cases)
	functiontest.EvaluateTwice(t, Function, cases)
}
