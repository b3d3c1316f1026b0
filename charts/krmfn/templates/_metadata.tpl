{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /*
Labels: include "krmfn.labelsOf" (list . OWN GIVEN), OWN and GIVEN maps. Own labels win over given ones, as selectors depend on them.
The component is the folder of the template.
*/ -}}
{{- define "krmfn.labelsOf" -}}
{{- $root := index . 0 -}}
{{- $standard := dict
    "helm.sh/chart" (printf "%s-%s" $root.Chart.Name ($root.Chart.Version | replace "+" "_"))
    "app.kubernetes.io/name" $root.Chart.Name
    "app.kubernetes.io/instance" $root.Release.Name
    "app.kubernetes.io/version" $root.Chart.AppVersion
    "app.kubernetes.io/managed-by" $root.Release.Service
    "app.kubernetes.io/part-of" "porch"
    "app.kubernetes.io/component" ($root.Template.Name | dir | base) -}}
{{- toYaml (merge (dict) (index . 1) $standard (index . 2) $root.Values.commonLabels) }}
{{- end }}

{{- /* Labels of an object that has none of its own. */ -}}
{{- define "krmfn.labels" -}}
{{- include "krmfn.labelsOf" (list . dict dict) }}
{{- end }}

{{- /* The field annotations, or nothing: include "krmfn.annotations" (list OWN GIVEN). Own annotations win. */ -}}
{{- define "krmfn.annotations" -}}
{{- with merge (dict) (index . 0) (index . 1) -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Annotations, as JSON, of the objects whose names are those of Porch's own manifests. */ -}}
{{- define "krmfn.kept" -}}
{{- if .Values.keepPorchObjects -}}
{"helm.sh/resource-policy": "keep"}
{{- else -}}
{}
{{- end }}
{{- end }}

{{- /*
A list of the entries of two lists, in which those of the second replace those of the first with the same KEY:
include "krmfn.entries" (list KEY OWN GIVEN). Of entries of one list with the same KEY, the last counts.
*/ -}}
{{- define "krmfn.entries" -}}
{{- $key := index . 0 -}}
{{- $all := dict -}}
{{- $order := list -}}
{{- range concat (index . 1) (index . 2) -}}
{{- $name := get . $key -}}
{{- if not (hasKey $all $name) -}}
{{- $order = append $order $name -}}
{{- end -}}
{{- $_ := set $all $name . -}}
{{- end -}}
{{- $entries := list -}}
{{- range $order -}}
{{- $entries = append $entries (get $all .) -}}
{{- end -}}
{{- toYaml $entries }}
{{- end }}
