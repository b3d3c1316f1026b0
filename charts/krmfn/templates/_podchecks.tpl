{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Fails if Kubernetes would reject the pods or the Deployment that the values of a component configure. */ -}}
{{- define "krmfn.checkPods" -}}
{{- $components := list (list "" .Values (include "krmfn.functionRunnerVolumes" .)) -}}
{{- if .Values.podJanitor.enabled -}}
{{- $components = append $components (list "podJanitor." .Values.podJanitor "") -}}
{{- end -}}
{{- if include "krmfn.warms" . -}}
{{- $components = append $components (list "imageWarmer." .Values.imageWarmer (include "krmfn.imageWarmerVolumes" .)) -}}
{{- end -}}
{{- if .Values.taskHandler.enabled -}}
{{- $components = append $components (list "taskHandler." .Values.taskHandler (include "krmfn.taskHandlerVolumes" .)) -}}
{{- end -}}
{{- range $components -}}
{{- include "krmfn.checkMounts" . -}}
{{- $name := index . 0 -}}
{{- with index . 1 -}}
{{- include "krmfn.checkResources" (list (printf "%sresources" $name) .resources) -}}
{{- with .strategy -}}
{{- include "krmfn.checkStrategy" (list (printf "%sstrategy.rollingUpdate" $name) .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Fails if a mount names a volume that the pod does not have: include "krmfn.checkMounts" (list PREFIX VALUES VOLUMES). */ -}}
{{- define "krmfn.checkMounts" -}}
{{- $volumes := list -}}
{{- range concat (index . 2 | fromYamlArray) (index . 1).extraVolumes -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- $prefix := index . 0 -}}
{{- range $i, $mount := (index . 1).extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "%sextraVolumeMounts[%d].name is %s, but the pod's volumes are [%s]: add the volume to %sextraVolumes" $prefix $i .name (join ", " $volumes) $prefix) }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Fails if a request exceeds its limit: include "krmfn.checkResources" (list NAME RESOURCES). */ -}}
{{- define "krmfn.checkResources" -}}
{{- $name := index . 0 -}}
{{- with index . 1 -}}
{{- $limits := .limits | default dict -}}
{{- range $resource, $request := .requests -}}
{{- $limit := get $limits $resource -}}
{{- if and (hasKey $limits $resource) (gt (include "krmfn.quantity" $request | float64) (include "krmfn.quantity" $limit | float64)) -}}
{{- fail (printf "%s.requests.%s is %v, but %s.limits.%s is %v: a request must not exceed its limit, so lower the request, which may be the default, or raise the limit" $name $resource $request $name $resource $limit) }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Converts a Kubernetes quantity to a number. */ -}}
{{- define "krmfn.quantity" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9.]+([eE][-+]?[0-9]+)?" $text -}}
{{- $units := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
    "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- mulf (float64 $number) (get $units (trimPrefix $number $text)) }}
{{- end }}

{{- /* Fails if a rolling update could neither stop an old pod nor start a new one: include "krmfn.checkStrategy" (list NAME STRATEGY). */ -}}
{{- define "krmfn.checkStrategy" -}}
{{- $update := (index . 1).rollingUpdate | default dict -}}
{{- $zero := list "0" "0%" "00%" -}}
{{- if and (eq (index . 1).type "RollingUpdate") (has (toString $update.maxUnavailable) $zero) (has (toString $update.maxSurge) $zero) -}}
{{- fail (printf "%s.maxUnavailable is %v and %s.maxSurge is %v: one of them must be more than 0" (index . 0) $update.maxUnavailable (index . 0) $update.maxSurge) }}
{{- end -}}
{{- end }}
