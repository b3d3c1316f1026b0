{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* DNS name in the certificate of the installation. Clients with this certificate may call the function runners. */ -}}
{{- define "krmfn.tlsName" -}}
function-runner.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* Fails if a value needs another value that is not set. */ -}}
{{- define "krmfn.checkTLS" -}}
{{- range list
    (list "clientCertificates" "secret" "clients present certificates only to a server with TLS")
    (list "issuerRef" "secret" "name the Secret in which cert-manager keeps the certificate")
    (list "allowedClients" "clientCertificates" "without client certificates, every client may call")
    (list "tokenAudience" "clientCertificates" "the chart's own clients have certificates")
    (list "tokenAudience" "allowedServiceAccounts" "every pod can get a token for any audience, so name the service accounts")
    (list "allowedServiceAccounts" "tokenAudience" "name the audience of their tokens") -}}
{{- $value := get $ (index . 0) -}}
{{- $needed := get $ (index . 1) -}}
{{- if and $value (not $needed) -}}
{{- fail (printf "tls.%s is %s, but tls.%s is %s: %s" (index . 0) (toJson $value) (index . 1) (toJson $needed) (index . 2)) }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Server flags for TLS and authorisation. */ -}}
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
{{- end }}
{{- end }}
{{- end }}

{{- /* Flags of the chart's components that call function runners. */ -}}
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

{{- /* Port for probes: include "krmfn.probePort" (list . PORT). Kubelets do not support TLS in gRPC probes. */ -}}
{{- define "krmfn.probePort" -}}
{{- ternary 9448 (index . 1) (not (empty (index . 0).Values.tls.secret)) }}
{{- end }}
