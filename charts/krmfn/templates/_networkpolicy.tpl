{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Ports of a rule, including the ports of the service mesh: include "krmfn.policyPorts" (list . PORT). */ -}}
{{- define "krmfn.policyPorts" -}}
{{- range concat (list (index . 1)) (index . 0).Values.networkPolicy.meshPorts }}
- port: {{ int64 . }}
  protocol: TCP
{{- end }}
{{- end }}

{{- /* Rule that lets monitoring read metrics; empty if networkPolicy.metricsReaders is empty. */ -}}
{{- define "krmfn.metricsRule" -}}
{{- with .Values.networkPolicy.metricsReaders -}}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    {{- include "krmfn.policyPorts" (list $ 9464) | trim | nindent 4 }}
{{- end }}
{{- end }}

{{- /* Rule that lets pods query DNS. A policy applies to the ports of the DNS pods, which is 5353 on OpenShift. */ -}}
{{- define "krmfn.dnsRule" -}}
{{- with .Values.networkPolicy.dnsServers -}}
- to:
    {{- toYaml . | nindent 4 }}
  ports:
    {{- range $port := list 53 5353 }}
    {{- range $protocol := list "UDP" "TCP" }}
    - port: {{ $port }}
      protocol: {{ $protocol }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end }}

{{- /* Peer: pods in the release's namespace with the caller label. Users who can create pods there are trusted. */ -}}
{{- define "krmfn.clientPeer" -}}
- podSelector:
    matchLabels:
      krmfn.dev/client: "true"
{{- end }}

{{- /* Field policyTypes of the chart's own pods. */ -}}
{{- define "krmfn.policyTypes" -}}
policyTypes: {{ ternary "[Ingress, Egress]" "[Ingress]" .Values.networkPolicy.restrictEgress }}
{{- end }}

{{- /* Field egress of the chart's own pods; empty if egress is not restricted: include "krmfn.policyEgress" (list . RULES). */ -}}
{{- define "krmfn.policyEgress" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.networkPolicy -}}
{{- if .restrictEgress -}}
egress:
  {{- with include "krmfn.dnsRule" $root }}{{ . | nindent 2 }}{{ end }}
  # The API server, whose addresses are outside of the cluster, and registries.
  - ports:
      - port: 443
        protocol: TCP
      - port: 6443
        protocol: TCP
  {{- with index $ 1 }}{{ . | nindent 2 }}{{ end }}
  {{- with .componentEgress }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* "true" if a list of peers has an ipBlock, otherwise "". */ -}}
{{- define "krmfn.hasAddresses" -}}
{{- range . -}}
{{- if hasKey . "ipBlock" }}true{{ end -}}
{{- end -}}
{{- end }}
