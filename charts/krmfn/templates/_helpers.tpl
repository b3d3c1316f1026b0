{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Labels of everything that the chart makes. */ -}}
{{- define "krmfn.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: porch
{{- end }}

{{- /* Reference of one of krmfn's images: include "krmfn.image" (list . "NAME"). */ -}}
{{- define "krmfn.image" -}}
{{- $root := index . 0 -}}
{{- $root.Values.image.registry }}/{{ index . 1 }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}
{{- end }}

{{- /* Name of the ConfigMap with the template of function pods; empty where there is none. */ -}}
{{- define "krmfn.functionPodTemplate" -}}
{{- with .Values.functionPodTemplate -}}
{{- .name | default (ternary "kpt-function-eval-pod-template" "" (not (empty .pod))) }}
{{- end }}
{{- end }}
