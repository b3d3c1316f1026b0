{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Reference of one of krmfn's images: include "krmfn.image" (list . "NAME"). */ -}}
{{- define "krmfn.image" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $image := $root.Values.image -}}
{{- $own := get $image.overrides $name | default dict -}}
{{- $repository := $own.repository | default (printf "%s/%s" $image.registry $name) -}}
{{- with $root.Values.global.imageRegistry -}}
{{- /* As in Docker, the part before the first slash is a host if it contains a dot or a port. */ -}}
{{- $repository = regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $repository "" | printf "%s/%s" . -}}
{{- end -}}
{{- $tag := $own.tag | default (get $image.tags $name) | default $image.tag | default $root.Chart.AppVersion -}}
{{- with $own.digest -}}
{{- $tag = printf "%s@%s" (regexReplaceAll "@.*" $tag "") . -}}
{{- end -}}
{{- /* The digest of a release is valid only for the tag that it was released with. */ -}}
{{- with get $image.digests $name -}}
{{- if eq $tag (regexReplaceAll "@.*" . "") -}}
{{- $tag = . -}}
{{- end -}}
{{- end -}}
{{- $repository }}:{{ $tag }}
{{- end }}

{{- /* Names of the pull secrets for krmfn's images, as a JSON list. */ -}}
{{- define "krmfn.pullSecrets" -}}
{{- $names := list -}}
{{- range concat .Values.global.imagePullSecrets .Values.imagePullSecrets -}}
{{- $names = append $names (ternary . (get (kindIs "map" . | ternary . dict) "name") (kindIs "string" .)) -}}
{{- end -}}
{{- uniq $names | toJson }}
{{- end }}

{{- /* Flags for the pull secrets of pods in the function namespace. */ -}}
{{- define "krmfn.pullSecretFlags" -}}
{{- range include "krmfn.pullSecrets" . | fromJsonArray }}
- --image-pull-secret={{ . }}
{{- end }}
{{- end }}
