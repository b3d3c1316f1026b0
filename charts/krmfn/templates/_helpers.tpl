{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Labels of everything that the chart makes. Its component is the folder of the template. */ -}}
{{- define "krmfn.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: porch
app.kubernetes.io/component: {{ .Template.Name | dir | base }}
{{- end }}

{{- /* Reference of one of krmfn's images: include "krmfn.image" (list . "NAME"). */ -}}
{{- define "krmfn.image" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- with $root.Values.image -}}
{{- .registry }}/{{ $name }}:{{ index .tags $name | default .tag | default $root.Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* Name of the ConfigMap with the template of function pods; empty where there is none. */ -}}
{{- define "krmfn.functionPodTemplate" -}}
{{- with .Values.functionPodTemplate -}}
{{- .name | default (ternary "kpt-function-eval-pod-template" "" (not (empty .pod))) }}
{{- end }}
{{- end }}

{{- /* Security context of all pods that the chart makes. */ -}}
{{- define "krmfn.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Security context of their containers. */ -}}
{{- define "krmfn.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Where the pods of a component run, and with which pull secrets: include "krmfn.placement" (list . COMPONENT). */ -}}
{{- define "krmfn.placement" -}}
{{- $root := index . 0 -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with index . 1 }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Environment that sends telemetry to Prometheus, and more, but for what the user sets: include "krmfn.env" (list NAME EXTRAENV MORE). */ -}}
{{- define "krmfn.env" -}}
{{- $given := list }}
{{- range index . 1 }}
{{- $given = append $given .name }}
{{- end }}
{{- range $name, $value := merge (index . 2) (dict
    "OTEL_METRICS_EXPORTER" "prometheus" "OTEL_EXPORTER_PROMETHEUS_HOST" "0.0.0.0" "OTEL_EXPORTER_PROMETHEUS_PORT" "9464"
    "OTEL_TRACES_EXPORTER" "none" "OTEL_SERVICE_NAME" (index . 0)) }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- with index . 1 }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Flags, mounts and volumes of private registries, the same for all who ask registries. */ -}}
{{- define "krmfn.registryFlags" -}}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
- --enable-private-registries=true
- --enable-private-registries-tls={{ not (empty .caSecret) }}
{{- end }}
{{- end }}
{{- end }}
{{- define "krmfn.registryMounts" -}}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
- name: registry-credentials
  mountPath: /var/tmp/config-secret
  readOnly: true
{{- if .caSecret }}
- name: registry-ca
  mountPath: /var/tmp/tls-secret
  readOnly: true
{{- end }}
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
{{- if .caSecret }}
- name: registry-ca
  secret:
    secretName: {{ .caSecret | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Flags that say what images are, the same for all who look images up. */ -}}
{{- define "krmfn.imageFlags" -}}
- {{ printf "--default-image-prefix=%s" .Values.images.defaultPrefix | quote }}
{{- range $from, $to := .Values.images.rewrites }}
- {{ printf "--image-rewrite=%s=%s" $from $to | quote }}
{{- end }}
{{- end }}

{{- /* Flags of logs, the same for all. */ -}}
{{- define "krmfn.logFlags" -}}
- --log-level={{ int64 .Values.logLevel }}
- --log-format={{ .Values.logFormat }}
{{- end }}

{{- /* Flags of servers: what messages may be, and how they end. */ -}}
{{- define "krmfn.serverFlags" -}}
- --max-request-body-size={{ int64 .Values.maxRequestBodySize }}
- --max-resource-list-size={{ max (int64 .Values.maxResourceListSize) (int64 .Values.maxRequestBodySize) }}
- --shutdown-delay={{ .Values.shutdownDelay }}
- --drain-timeout={{ .Values.drainTimeout }}
{{- end }}

{{- /* Environment of those who have no flags for private registries. */ -}}
{{- define "krmfn.registryEnv" -}}
{{- $env := dict }}
{{- with .Values.privateRegistries }}
{{- if .credentialsSecret }}
{{- $env = set $env "DOCKER_CONFIG" "/var/tmp/config-secret" }}
{{- if .caSecret }}
{{- /* Beside the file with the usual authorities, which is found without it. */}}
{{- $env = set $env "SSL_CERT_DIR" "/var/tmp/tls-secret" }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $env }}
{{- end }}

{{- /* Whether there is anything for the image warmer to do. */ -}}
{{- define "krmfn.warms" -}}
{{- with .Values.imageWarmer }}
{{- if and .enabled (or .images .functionConfigs $.Values.functions) }}true{{ end }}
{{- end }}
{{- end }}

{{- /* Pod of the image warmer: include "krmfn.imageWarmerPod" (list . FLAGS). */ -}}
{{- define "krmfn.imageWarmerPod" -}}
{{- $root := index . 0 -}}
{{- $flags := index . 1 -}}
{{- with $root.Values.imageWarmer -}}
metadata:
  labels:
    app: image-warmer
    {{- include "krmfn.labels" $root | nindent 4 }}
  {{- with .podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: image-warmer
  enableServiceLinks: false
  restartPolicy: Never
  securityContext:
    {{- include "krmfn.podSecurity" $root | nindent 4 }}
  {{- with include "krmfn.placement" (list $root .) }}{{ . | trim | nindent 2 }}{{ end }}
  containers:
    - name: image-warmer
      image: {{ include "krmfn.image" (list $root "image-warmer") }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        - --namespace={{ $root.Values.functionNamespace.name }}
        - --pod-cache-config=/pod-cache-config/pod-cache-config.yaml
        - --function-configs={{ .functionConfigs }}
        - --metadata-configmap={{ $root.Values.images.metadata }}
        - --parallel={{ int64 .maxParallelLookups }}
        - --resolve-timeout={{ .lookupTimeout }}
        - --prepull={{ .prepull.enabled }}
        - --injection={{ $root.Values.pods.wrapperInjection }}
        - --max-parallel-pulls={{ int64 .prepull.maxParallel }}
        - --max-parallel-pulls-per-node={{ int64 .prepull.maxParallelPerNode }}
        - --pull-timeout={{ .prepull.timeout }}
        {{- with .prepull.nodeSelector }}
        {{- $pairs := list }}
        {{- range $key, $value := . }}
        {{- $pairs = append $pairs (printf "%s=%s" $key $value) }}
        {{- end }}
        - {{ printf "--node-selector=%s" (join "," $pairs) | quote }}
        {{- end }}
        {{- range .prepull.tolerations }}
        - {{ printf "--toleration=%s" . | quote }}
        {{- end }}
        {{- include "krmfn.imageFlags" $root | nindent 8 }}
        {{- if $root.Values.images.policy }}
        - --image-policy=/image-policy/image-policy.yaml
        {{- end }}
        {{- with include "krmfn.registryFlags" $root }}{{ . | trim | nindent 8 }}{{ end }}
        {{- include "krmfn.logFlags" $root | nindent 8 }}
        {{- range $flags }}
        - {{ . }}
        {{- end }}
        {{- range .images }}
        - {{ printf "--image=%s" . | quote }}
        {{- end }}
        {{- range .extraArgs }}
        - {{ . | quote }}
        {{- end }}
      env:
        - name: WRAPPER_SERVER_IMAGE
          value: {{ include "krmfn.image" (list $root "wrapper-server") }}
        {{- with .extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        {{- include "krmfn.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - name: pod-cache-config
          mountPath: /pod-cache-config
          readOnly: true
        {{- if $root.Values.images.policy }}
        - name: image-policy
          mountPath: /image-policy
          readOnly: true
        {{- end }}
        {{- with include "krmfn.registryMounts" $root }}{{ . | trim | nindent 8 }}{{ end }}
  volumes:
    - name: pod-cache-config
      configMap:
        name: pod-cache-config
    {{- if $root.Values.images.policy }}
    - name: image-policy
      configMap:
        name: krmfn-image-policy
    {{- end }}
    {{- with include "krmfn.registryVolumes" $root }}{{ . | trim | nindent 4 }}{{ end }}
{{- end }}
{{- end }}

{{- /* Annotations of what runs once the release is uninstalled: include "krmfn.uninstallHook" WEIGHT. */ -}}
{{- define "krmfn.uninstallHook" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
