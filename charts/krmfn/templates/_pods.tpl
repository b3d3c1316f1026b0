{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Name of a component's service account: include "krmfn.serviceAccount" (list DEFAULT VALUE-NAME VALUES). */ -}}
{{- define "krmfn.serviceAccount" -}}
{{- with index . 2 -}}
{{- if not (or .create .name) -}}
{{- fail (printf "%s.create is false, but %s.name is empty: name an existing service account" (index $ 1) (index $ 1)) }}
{{- end -}}
{{- .name | default (index $ 0) }}
{{- end }}
{{- end }}
{{- define "krmfn.runnerAccount" -}}
{{- include "krmfn.serviceAccount" (list "porch-fn-runner" "serviceAccount" .Values.serviceAccount) }}
{{- end }}
{{- define "krmfn.janitorAccount" -}}
{{- include "krmfn.serviceAccount" (list "pod-janitor" "podJanitor.serviceAccount" .Values.podJanitor.serviceAccount) }}
{{- end }}
{{- define "krmfn.warmerAccount" -}}
{{- include "krmfn.serviceAccount" (list "image-warmer" "imageWarmer.serviceAccount" .Values.imageWarmer.serviceAccount) }}
{{- end }}

{{- /* Security context of all pods that the chart creates. */ -}}
{{- define "krmfn.podSecurity" -}}
{{- toYaml .Values.podSecurityContext }}
{{- end }}

{{- /* Security context of their containers. */ -}}
{{- define "krmfn.containerSecurity" -}}
{{- toYaml .Values.securityContext }}
{{- end }}

{{- /* Scheduling fields and pull secrets of the pods of a component: include "krmfn.placement" (list . COMPONENT). */ -}}
{{- define "krmfn.placement" -}}
{{- with include "krmfn.pullSecrets" (index . 0) | fromJsonArray }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with index . 1 }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Topology spread constraints of a Deployment: include "krmfn.spread" (list NAME GIVEN). */ -}}
{{- define "krmfn.spread" -}}
{{- with index . 1 -}}
{{- toYaml . }}
{{- else -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app: {{ index . 0 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{- /* Update strategy of a Deployment. Omits rollingUpdate for other types, because the values still contain its default. */ -}}
{{- define "krmfn.strategy" -}}
{{- if eq .type "Recreate" -}}
type: Recreate
{{- else -}}
{{- toYaml . }}
{{- end }}
{{- end }}

{{- /* Specification of a PodDisruptionBudget: include "krmfn.disruption" (list . APP). */ -}}
{{- define "krmfn.disruption" -}}
{{- with (index . 0).Values.podDisruptionBudget -}}
maxUnavailable: {{ .maxUnavailable }}
unhealthyPodEvictionPolicy: {{ .unhealthyPodEvictionPolicy }}
{{- end }}
selector:
  matchLabels:
    app: {{ index . 1 }}
{{- end }}

{{- /* Environment variables of servers, including those for Prometheus: include "krmfn.env" (list NAME GIVEN MORE), where MORE is a list. */ -}}
{{- define "krmfn.env" -}}
{{- $own := index . 2 -}}
{{- range $name, $value := dict
    "OTEL_METRICS_EXPORTER" "prometheus" "OTEL_EXPORTER_PROMETHEUS_HOST" "0.0.0.0" "OTEL_EXPORTER_PROMETHEUS_PORT" "9464"
    "OTEL_TRACES_EXPORTER" "none" "OTEL_SERVICE_NAME" (index . 0) -}}
{{- $own = append $own (dict "name" $name "value" $value) -}}
{{- end -}}
{{- include "krmfn.entries" (list "name" $own (index . 1)) }}
{{- end }}
