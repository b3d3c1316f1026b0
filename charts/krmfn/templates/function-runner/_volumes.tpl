{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- define "krmfn.functionRunnerMounts" -}}
- name: pod-cache-config
  mountPath: /pod-cache-config
  readOnly: true
- name: image-metadata
  mountPath: /image-metadata
  readOnly: true
{{- if .Values.images.policy }}
- name: image-policy
  mountPath: /image-policy
  readOnly: true
{{- end }}
{{- with .Values.functionPods }}
{{- if or .defaults .overrides }}
- name: function-pods
  mountPath: /function-pods
  readOnly: true
{{- end }}
{{- end }}
- name: tmp
  mountPath: /tmp
{{- with include "krmfn.tlsMounts" . }}
{{ . | trim }}
{{- end }}
{{- include "krmfn.registryMounts" . }}
{{- end }}

{{- define "krmfn.functionRunnerVolumes" -}}
- name: pod-cache-config
  configMap:
    name: pod-cache-config
- name: image-metadata
  configMap:
    name: {{ .Values.images.metadata | quote }}
    optional: true
{{- include "krmfn.imagePolicyVolume" . }}
{{- with .Values.functionPods }}
{{- if or .defaults .overrides }}
- name: function-pods
  configMap:
    name: krmfn-function-pods
{{- end }}
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- with include "krmfn.tlsVolumes" . }}
{{ . | trim }}
{{- end }}
{{- include "krmfn.registryVolumes" . }}
{{- end }}
