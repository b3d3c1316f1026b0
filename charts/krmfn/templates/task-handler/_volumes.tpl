{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- define "krmfn.taskHandlerMounts" -}}
- name: tmp
  mountPath: /tmp
{{- with include "krmfn.tlsMounts" . }}
{{ . | trim }}
{{- end }}
{{- include "krmfn.registryMounts" . }}
{{- end }}

{{- define "krmfn.taskHandlerVolumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- with include "krmfn.tlsVolumes" . }}
{{ . | trim }}
{{- end }}
{{- include "krmfn.registryVolumes" . }}
{{- end }}
