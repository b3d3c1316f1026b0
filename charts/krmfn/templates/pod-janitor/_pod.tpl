{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Pod of the pod janitor: include "krmfn.podJanitorPod" (list . ACCOUNT ARGS ENV), where ARGS and ENV are lists. */ -}}
{{- define "krmfn.podJanitorPod" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.podJanitor -}}
metadata:
  labels:
    {{- include "krmfn.labelsOf" (list $root (dict "app" "pod-janitor") .podLabels) | nindent 4 }}
  {{- with include "krmfn.annotations" (list dict .podAnnotations) }}{{ . | nindent 2 }}{{ end }}
spec:
  serviceAccountName: {{ index $ 1 }}
  enableServiceLinks: false
  restartPolicy: Never
  securityContext:
    {{- include "krmfn.podSecurity" $root | nindent 4 }}
  {{- with include "krmfn.placement" (list $root .) }}{{ . | trim | nindent 2 }}{{ end }}
  containers:
    - name: pod-janitor
      image: {{ include "krmfn.image" (list $root "pod-janitor") | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        - --namespace={{ $root.Values.functionNamespace.name }}
        {{- include "krmfn.logFlags" $root | nindent 8 }}
        {{- range index $ 2 }}
        - {{ . | quote }}
        {{- end }}
      {{- with concat (index $ 3) .extraEnv }}
      env:
        {{- include "krmfn.entries" (list "name" list .) | nindent 8 }}
      {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        {{- include "krmfn.containerSecurity" $root | nindent 8 }}
      {{- with .extraVolumeMounts }}
      volumeMounts:
        {{- include "krmfn.entries" (list "mountPath" list .) | nindent 8 }}
      {{- end }}
  {{- with .extraVolumes }}
  volumes:
    {{- include "krmfn.entries" (list "name" list .) | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
