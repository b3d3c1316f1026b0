{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* "true" if credentials or certificate authorities of private registries are configured, otherwise "". */ -}}
{{- define "krmfn.privateRegistries" -}}
{{- with .Values.privateRegistries }}
{{- if or .credentialsSecret .caSecret }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Flags, mounts and volumes for private registries, for all components that query registries. */ -}}
{{- define "krmfn.registryFlags" -}}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
- --enable-private-registries=true
{{- end }}
{{- if .caSecret }}
- --enable-private-registries-tls=true
{{- end }}
{{- end }}
{{- end }}
{{- define "krmfn.registryMounts" -}}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
- name: registry-credentials
  mountPath: /var/tmp/config-secret
  readOnly: true
{{- end }}
{{- if .caSecret }}
- name: registry-ca
  mountPath: /var/tmp/tls-secret
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- define "krmfn.registryVolumes" -}}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
- name: registry-credentials
  secret:
    secretName: {{ .credentialsSecret | quote }}
    items:
      - {key: .dockerconfigjson, path: .dockerconfigjson}
      # The file name of Docker's configuration.
      - {key: .dockerconfigjson, path: config.json}
{{- end }}
{{- if .caSecret }}
- name: registry-ca
  secret:
    secretName: {{ .caSecret | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Environment variables, as a JSON list, for components without flags for private registries. */ -}}
{{- define "krmfn.registryEnv" -}}
{{- $env := list }}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
{{- $env = append $env (dict "name" "DOCKER_CONFIG" "value" "/var/tmp/config-secret") }}
{{- end }}
{{- if .caSecret }}
{{- /* Go also loads the file with the system's authorities. */}}
{{- $env = append $env (dict "name" "SSL_CERT_DIR" "value" "/var/tmp/tls-secret") }}
{{- end }}
{{- end }}
{{- toJson $env }}
{{- end }}

{{- /* Flags that affect how image names are resolved, for all components that query registries. */ -}}
{{- define "krmfn.imageFlags" -}}
- {{ printf "--default-image-prefix=%s" .Values.images.defaultPrefix | quote }}
{{- range $from, $to := .Values.images.rewrites }}
- {{ printf "--image-rewrite=%s=%s" $from $to | quote }}
{{- end }}
{{- end }}

{{- /* Volume with the image policy and the files that it names. */ -}}
{{- define "krmfn.imagePolicyVolume" -}}
{{- with .Values.images }}
{{- if .policy }}
- name: image-policy
  projected:
    sources:
      - configMap:
          name: krmfn-image-policy
      {{- with .publicKeysSecret }}
      - secret:
          name: {{ . | quote }}
      {{- end }}
      {{- with .trustedRootConfigMap }}
      - configMap:
          name: {{ . | quote }}
      {{- end }}
{{- end }}
{{- end }}
{{- end }}
