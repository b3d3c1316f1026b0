{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /*
Labels: include "krmfn.labelsOf" (list . OWN GIVEN), where OWN and GIVEN are maps. OWN takes precedence, because selectors depend on it.
The component label is the name of the template's folder.
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

{{- /* Labels of an object without labels of its component. */ -}}
{{- define "krmfn.labels" -}}
{{- include "krmfn.labelsOf" (list . dict dict) }}
{{- end }}

{{- /* The field annotations, or nothing: include "krmfn.annotations" (list OWN GIVEN). OWN takes precedence. */ -}}
{{- define "krmfn.annotations" -}}
{{- with merge (dict) (index . 0) (index . 1) -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Annotations, as JSON, of the objects that have the same names as objects in Porch's manifests. */ -}}
{{- define "krmfn.kept" -}}
{{- if .Values.keepPorchObjects -}}
{"helm.sh/resource-policy": "keep"}
{{- else -}}
{}
{{- end }}
{{- end }}

{{- /*
Merges two lists of entries: include "krmfn.entries" (list KEY OWN GIVEN). An entry of GIVEN replaces the entry of OWN with the same KEY. Within
one list, the last entry with a KEY is used.
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
