{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Name of the ConfigMap with the template of function pods; empty for the built-in template. */ -}}
{{- define "krmfn.functionPodTemplate" -}}
{{- with .Values.functionPodTemplate -}}
{{- .name | default (ternary "krmfn-function-pod-template" "" (not (empty .pod))) }}
{{- end }}
{{- end }}

{{- /*
Number of replicas of the Deployment function-runner if it belongs to Porch or another release, or still has pods of its previous owner; otherwise
empty. A takeover keeps that number. With a higher one, Kubernetes would also start more of the old pods, and two of Porch's function runners
delete each other's function pods.
*/ -}}
{{- define "krmfn.foreignReplicas" -}}
{{- with lookup "apps/v1" "Deployment" .Release.Namespace "function-runner" -}}
{{- $replicas := dig "spec" "replicas" 0 . | int64 -}}
{{- $theirs := ne (dig "metadata" "labels" "app.kubernetes.io/name" "" .) $.Chart.Name -}}
{{- $begun := hasKey (dig "metadata" "annotations" dict .) "krmfn.dev/takeover" -}}
{{- $observed := eq (dig "status" "observedGeneration" 0 . | int64) (dig "metadata" "generation" 0 . | int64) -}}
{{- $replaced := and $observed (eq (dig "status" "updatedReplicas" 0 . | int64) (dig "status" "replicas" 0 . | int64)) -}}
{{- if and (gt $replicas 0) (or $theirs (and $begun (not $replaced))) -}}
{{- $replicas }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Name of the Secret with the certificate authority for function pods. */ -}}
{{- define "krmfn.podAuthority" -}}
{{- .Values.pods.tls.existingSecret | default "function-pod-ca" }}
{{- end }}

{{- /* "true" if the function runner creates that authority, otherwise "". */ -}}
{{- define "krmfn.ownPodAuthority" -}}
{{- with .Values.pods.tls -}}
{{- if and (not .existingSecret) (or (eq .mode "always") (and (eq .mode "auto") (not (include "krmfn.functionPodTemplate" $)))) -}}
true
{{- end }}
{{- end }}
{{- end }}

{{- /* Log flags of all components. */ -}}
{{- define "krmfn.logFlags" -}}
- --log-level={{ int64 .Values.logLevel }}
- --log-format={{ .Values.logFormat }}
{{- end }}

{{- /* Server flags: message sizes, shutdown, and log content. */ -}}
{{- define "krmfn.serverFlags" -}}
- --log-failure-reasons={{ .Values.logFailureReasons }}
- --max-request-body-size={{ int64 .Values.maxRequestBodySize }}
- --max-resource-list-size={{ max (int64 .Values.maxResourceListSize) (int64 .Values.maxRequestBodySize) }}
- --shutdown-delay={{ .Values.shutdownDelay }}
- --drain-timeout={{ .Values.drainTimeout }}
{{- end }}

{{- /* User of the pods that function runners and the image warmer create: nobody or assigned. */ -}}
{{- define "krmfn.functionPodUser" -}}
{{- if ne .Values.pods.user "auto" -}}
{{- .Values.pods.user }}
{{- else -}}
{{- ternary "assigned" "nobody" (.Capabilities.APIVersions.Has "security.openshift.io/v1") }}
{{- end }}
{{- end }}

{{- /* "true" if the image warmer has images to look up, otherwise "". */ -}}
{{- define "krmfn.warms" -}}
{{- with .Values.imageWarmer }}
{{- if and .enabled (or .images .functionConfigs $.Values.functions) }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Annotations of pre-delete hooks: include "krmfn.uninstallHook" WEIGHT. */ -}}
{{- define "krmfn.uninstallHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded,hook-failed
{{- end }}
