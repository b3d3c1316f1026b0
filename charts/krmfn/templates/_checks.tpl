{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* A Go duration in milliseconds. */ -}}
{{- define "krmfn.milliseconds" -}}
{{- $start := toDate "2006-01-02" "2000-01-01" -}}
{{- sub (mustDateModify . $start).UnixMilli $start.UnixMilli }}
{{- end }}

{{- /* A Go duration in seconds, rounded up. */ -}}
{{- define "krmfn.seconds" -}}
{{- div (include "krmfn.milliseconds" . | add 999) 1000 }}
{{- end }}

{{- /* Termination grace period of function runners and task handlers, in seconds. */ -}}
{{- define "krmfn.gracePeriod" -}}
{{- $needed := add (include "krmfn.seconds" .Values.shutdownDelay) (include "krmfn.seconds" .Values.drainTimeout) -}}
{{- $given := int64 .Values.terminationGracePeriodSeconds -}}
{{- if eq $given 0 -}}
{{- add $needed 5 }}
{{- else if le $given $needed -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, but shutdownDelay and drainTimeout take %d seconds: raise it above that, or set it to 0, which means %d" $given $needed (add $needed 5)) }}
{{- else -}}
{{- $given }}
{{- end }}
{{- end }}

{{- /* Fails unless one duration exceeds another: include "krmfn.exceeds" (list NAME VALUE NAME VALUE WHY). */ -}}
{{- define "krmfn.exceeds" -}}
{{- if le (include "krmfn.milliseconds" (index . 1) | int64) (include "krmfn.milliseconds" (index . 3) | int64) -}}
{{- fail (printf "%s is %s, but must exceed %s, which is %s: %s" (index . 0) (index . 1) (index . 2) (index . 3) (index . 4)) }}
{{- end }}
{{- end }}

{{- /* Fails if values contradict each other. */ -}}
{{- define "krmfn.checks" -}}
{{- with .Values -}}
{{- if and .autoscaling.enabled (gt (int64 .autoscaling.minReplicas) (int64 .autoscaling.maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas is %d, but autoscaling.maxReplicas is %d: the minimum must not exceed the maximum" (int64 .autoscaling.minReplicas) (int64 .autoscaling.maxReplicas)) }}
{{- end -}}
{{- if .podJanitor.enabled -}}
{{- include "krmfn.exceeds" (list "podJanitor.grace" .podJanitor.grace "pods.scanInterval" .pods.scanInterval "the pod janitor would delete pods that function runners still use") -}}
{{- if include "krmfn.warms" $ -}}
{{- include "krmfn.exceeds" (list "podJanitor.warmerTTL" .podJanitor.warmerTTL "imageWarmer.prepull.timeout" .imageWarmer.prepull.timeout "the pod janitor would delete pods that still pull") -}}
{{- end -}}
{{- end -}}
{{- if and (include "krmfn.warms" $) (lt (include "krmfn.milliseconds" .imageWarmer.interval | int64) 60000) -}}
{{- fail (printf "imageWarmer.interval is %s, but must be at least 1m, because registries limit requests" .imageWarmer.interval) }}
{{- end -}}
{{- $accounts := list (include "krmfn.serviceAccount" (list "porch-fn-runner" "serviceAccount" .serviceAccount)) -}}
{{- if .podJanitor.enabled -}}
{{- $accounts = append $accounts (include "krmfn.serviceAccount" (list "pod-janitor" "podJanitor.serviceAccount" .podJanitor.serviceAccount)) -}}
{{- end -}}
{{- if include "krmfn.warms" $ -}}
{{- $accounts = append $accounts (include "krmfn.serviceAccount" (list "image-warmer" "imageWarmer.serviceAccount" .imageWarmer.serviceAccount)) -}}
{{- end -}}
{{- if and .taskHandler.enabled .taskHandler.serviceAccount.create -}}
{{- $accounts = append $accounts (include "krmfn.serviceAccount" (list "task-handler" "taskHandler.serviceAccount" .taskHandler.serviceAccount)) -}}
{{- end -}}
{{- if ne (len $accounts) (len (uniq $accounts)) -}}
{{- fail (printf "service accounts %s: two components have the same one, and each would get the other's permissions: give them different names" (join ", " $accounts)) }}
{{- end -}}
{{- $configs := list "pod-cache-config" "krmfn-function-pods" "krmfn-image-policy" "krmfn-dashboard" .images.metadata -}}
{{- if .functionPodTemplate.pod -}}
{{- $configs = append $configs (include "krmfn.functionPodTemplate" $) -}}
{{- end -}}
{{- if ne (len $configs) (len (uniq $configs)) -}}
{{- fail (printf "ConfigMaps %s: images.metadata and functionPodTemplate.name must be names that nothing else has" (join ", " $configs)) }}
{{- end -}}
{{- end -}}
{{- include "krmfn.checkTLS" .Values.tls -}}
{{- include "krmfn.checkPods" . -}}
{{- include "krmfn.checkFunctions" .Values -}}
{{- include "krmfn.checkSignatures" .Values.images -}}
{{- include "krmfn.checkImageForm" .Values -}}
{{- include "krmfn.checkNamespace" . -}}
{{- end }}

{{- /* Fails if settings of a function contradict each other, or two entries have the same name. */ -}}
{{- define "krmfn.checkFunctions" -}}
{{- $names := dict -}}
{{- range $i, $function := .functions -}}
{{- if hasKey $names .name -}}
{{- fail (printf "functions[%v].name and functions[%d].name are both %s: merge the entries" (get $names .name) $i .name) }}
{{- end -}}
{{- $_ := set $names .name $i -}}
{{- $most := "pods.maxParallelPodsPerFunction" -}}
{{- $pods := $.pods.maxParallelPodsPerFunction -}}
{{- with .maxParallelPodsPerFunction -}}
{{- $most = printf "functions[%d].maxParallelPodsPerFunction" $i -}}
{{- $pods = . -}}
{{- end -}}
{{- if gt (int64 .minWarmPods) (int64 $pods) -}}
{{- fail (printf "functions[%d].minWarmPods is %d, but %s is %d: the minimum must not exceed the maximum" $i (int64 .minWarmPods) $most (int64 $pods)) }}
{{- end -}}
{{- include "krmfn.checkResources" (list (printf "functions[%d].resources" $i) .resources) -}}
{{- end -}}
{{- end }}

{{- /* Fails if the namespace of the function pods is the release's own, or if an upgrade changes it. */ -}}
{{- define "krmfn.checkNamespace" -}}
{{- $name := .Values.functionNamespace.name -}}
{{- if eq $name .Release.Namespace -}}
{{- /* The Pod Security Standard, quota and policies of the namespace would apply to krmfn's own pods, and Roles with the same names would conflict. */ -}}
{{- fail (printf "functionNamespace.name is %s, the release's own namespace: give function pods a namespace to themselves" $name) }}
{{- end -}}
{{- if .Release.IsUpgrade -}}
{{- range dig "spec" "template" "spec" "containers" list (lookup "apps/v1" "Deployment" .Release.Namespace "function-runner") -}}
{{- range .command -}}
{{- $before := trimPrefix "--pod-namespace=" . -}}
{{- if and (hasPrefix "--pod-namespace=" .) (ne $before $name) -}}
{{- fail (printf "functionNamespace.name is %s, but this release has its function pods in %s: the namespace cannot be changed by an upgrade, because the pods there would remain; keep the name, or uninstall the release and install it again" $name $before) }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Fails if nodes resolve tags and the image policy has rules about digests. */ -}}
{{- define "krmfn.checkImageForm" -}}
{{- if eq .pods.imageForm "reference" -}}
{{- $bypassed := list -}}
{{- if .images.policy.signatures -}}
{{- $bypassed = append $bypassed "images.policy.signatures" -}}
{{- end -}}
{{- range $i, $rule := .images.policy.allow -}}
{{- if $rule.digest -}}
{{- $bypassed = append $bypassed (printf "images.policy.allow[%d].digest" $i) -}}
{{- end -}}
{{- end -}}
{{- if $bypassed -}}
{{- fail (printf "pods.imageForm is reference, which lets nodes resolve tags and bypasses %s: set pods.imageForm to digest, or remove these rules" (join ", " $bypassed)) }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Fails if a rule of signatures names a file that is not mounted. */ -}}
{{- define "krmfn.checkSignatures" -}}
{{- range $i, $rule := .policy.signatures -}}
{{- range $rule.keys -}}
{{- if and .file (not $.publicKeysSecret) -}}
{{- fail (printf "images.policy.signatures[%d] names the file %s, but images.publicKeysSecret is empty: set it to the Secret with that key, or give the public key as data" $i .file) }}
{{- end -}}
{{- end -}}
{{- if and $rule.keyless (not (and $.policy.trustedRoot $.trustedRootConfigMap)) -}}
{{- fail (printf "images.policy.signatures[%d] has keyless signers, but images.policy.trustedRoot or images.trustedRootConfigMap is empty: set them to the file and the ConfigMap of Sigstore's trusted root" $i) }}
{{- end -}}
{{- end -}}
{{- end }}
