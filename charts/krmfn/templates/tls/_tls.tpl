{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Name that the certificate of the installation must have. Its holders may call the function runners. */ -}}
{{- define "krmfn.tlsName" -}}
function-runner.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* Flags of servers that say how connections are secured, and who may call. */ -}}
{{- define "krmfn.tlsFlags" -}}
{{- with .Values.tls }}
{{- if .secret }}
- --tls-cert-file=/tls/tls.crt
- --tls-key-file=/tls/tls.key
- --tls-min-version={{ .minVersion }}
- --health-port=9448
{{- if .clientCertificates }}
- --client-ca-file=/tls/ca.crt
{{- end }}
{{- with .allowedClients }}
- {{ printf "--allowed-clients=%s" (join "," (append . (include "krmfn.tlsName" $))) | quote }}
{{- end }}
{{- with .tokenAudience }}
- {{ printf "--token-audience=%s" . | quote }}
{{- end }}
{{- with .allowedServiceAccounts }}
- {{ printf "--allowed-service-accounts=%s" (join "," .) | quote }}
{{- end }}
{{- else if or .clientCertificates .allowedClients .tokenAudience .allowedServiceAccounts .issuerRef }}
{{- fail "tls.clientCertificates, tls.allowedClients, tls.tokenAudience, tls.allowedServiceAccounts and tls.issuerRef need tls.secret" }}
{{- end }}
{{- if and .tokenAudience (not .clientCertificates) }}
{{- fail "tls.tokenAudience needs tls.clientCertificates: the chart's own clients have certificates" }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Flags of the chart's own clients of its function runners. */ -}}
{{- define "krmfn.tlsClientFlags" -}}
{{- if .Values.tls.secret }}
- --runner-ca=/tls/ca.crt
- --runner-server-name={{ include "krmfn.tlsName" . }}
{{- if .Values.tls.clientCertificates }}
- --runner-cert=/tls/tls.crt
- --runner-key=/tls/tls.key
{{- end }}
{{- end }}
{{- end }}

{{- define "krmfn.tlsMounts" -}}
{{- if .Values.tls.secret }}
- name: tls
  mountPath: /tls
  readOnly: true
{{- end }}
{{- end }}
{{- define "krmfn.tlsVolumes" -}}
{{- with .Values.tls.secret }}
- name: tls
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* Port that probes ask: include "krmfn.probePort" (list . PORT). A kubelet speaks no TLS. */ -}}
{{- define "krmfn.probePort" -}}
{{- ternary 9448 (index . 1) (not (empty (index . 0).Values.tls.secret)) }}
{{- end }}
