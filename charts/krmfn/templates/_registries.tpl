{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Whether credentials or authorities of private registries are given. */ -}}
{{- define "krmfn.privateRegistries" -}}
{{- with .Values.privateRegistries }}
{{- if or .credentialsSecret .caSecret }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Flags, mounts and volumes of private registries, the same for all who ask registries. */ -}}
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
      # The name that Docker's own configuration has.
      - {key: .dockerconfigjson, path: config.json}
{{- end }}
{{- if .caSecret }}
- name: registry-ca
  secret:
    secretName: {{ .caSecret | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Variables, as a JSON list, of those who have no flags for private registries. */ -}}
{{- define "krmfn.registryEnv" -}}
{{- $env := list }}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
{{- $env = append $env (dict "name" "DOCKER_CONFIG" "value" "/var/tmp/config-secret") }}
{{- end }}
{{- if .caSecret }}
{{- /* Beside the file with the usual authorities, which is found without it. */}}
{{- $env = append $env (dict "name" "SSL_CERT_DIR" "value" "/var/tmp/tls-secret") }}
{{- end }}
{{- end }}
{{- toJson $env }}
{{- end }}

{{- /* Flags that say what images are, the same for all who look images up. */ -}}
{{- define "krmfn.imageFlags" -}}
- {{ printf "--default-image-prefix=%s" .Values.images.defaultPrefix | quote }}
{{- range $from, $to := .Values.images.rewrites }}
- {{ printf "--image-rewrite=%s=%s" $from $to | quote }}
{{- end }}
{{- end }}

{{- /* The image policy, beside the files that it names. */ -}}
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
