{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* Pod of the image warmer: include "krmfn.imageWarmerPod" . */ -}}
{{- define "krmfn.imageWarmerPod" -}}
{{- $root := . -}}
{{- /* The annotation restarts the image warmer when functions change, so that it warms them at once. */ -}}
{{- $annotations := dict "krmfn.dev/pod-cache-config" ($root.Values.functions | toJson | sha256sum | trunc 16) -}}
{{- with $root.Values.imageWarmer -}}
metadata:
  labels:
    {{- include "krmfn.labelsOf" (list $root (dict "app" "image-warmer") .podLabels) | nindent 4 }}
  {{- with include "krmfn.annotations" (list $annotations .podAnnotations) }}{{ . | nindent 2 }}{{ end }}
spec:
  serviceAccountName: {{ include "krmfn.warmerAccount" $root }}
  enableServiceLinks: false
  securityContext:
    {{- include "krmfn.podSecurity" $root | nindent 4 }}
  {{- with include "krmfn.placement" (list $root .) }}{{ . | trim | nindent 2 }}{{ end }}
  containers:
    - name: image-warmer
      image: {{ include "krmfn.image" (list $root "image-warmer") | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        - --namespace={{ $root.Values.functionNamespace.name }}
        - --pod-cache-config=/pod-cache-config/pod-cache-config.yaml
        - --function-configs={{ .functionConfigs }}
        - --metadata-configmap={{ $root.Values.images.metadata }}
        - --max-parallel-lookups={{ int64 .maxParallelLookups }}
        - --lookup-timeout={{ .lookupTimeout }}
        - --prepull={{ .prepull.enabled }}
        - --wrapper-injection={{ $root.Values.pods.wrapperInjection }}
        - --pod-user={{ include "krmfn.functionPodUser" $root }}
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
        {{- with include "krmfn.pullSecretFlags" $root }}{{ . | trim | nindent 8 }}{{ end }}
        {{- include "krmfn.imageFlags" $root | nindent 8 }}
        {{- if $root.Values.images.policy }}
        - --image-policy=/image-policy/image-policy.yaml
        {{- end }}
        {{- with include "krmfn.registryFlags" $root }}{{ . | trim | nindent 8 }}{{ end }}
        {{- include "krmfn.logFlags" $root | nindent 8 }}
        - --watch
        - --interval={{ .interval }}
        - --timeout={{ .timeout }}
        {{- range .images }}
        - {{ printf "--image=%s" . | quote }}
        {{- end }}
        {{- range .extraArgs }}
        - {{ . | quote }}
        {{- end }}
      env:
        {{- $wrapper := dict "name" "WRAPPER_SERVER_IMAGE" "value" (include "krmfn.image" (list $root "wrapper-server")) }}
        {{- include "krmfn.env" (list "krmfn-image-warmer" .extraEnv (list $wrapper)) | nindent 8 }}
      ports:
        - name: metrics
          containerPort: 9464
      livenessProbe:
        httpGet:
          path: /metrics
          port: metrics
        periodSeconds: 30
        timeoutSeconds: 5
        failureThreshold: 4
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        {{- include "krmfn.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        {{- include "krmfn.entries" (list "mountPath" (include "krmfn.imageWarmerMounts" $root | fromYamlArray) .extraVolumeMounts) | nindent 8 }}
  volumes:
    {{- include "krmfn.entries" (list "name" (include "krmfn.imageWarmerVolumes" $root | fromYamlArray) .extraVolumes) | nindent 4 }}
{{- end }}
{{- end }}

{{- define "krmfn.imageWarmerMounts" -}}
- name: pod-cache-config
  mountPath: /pod-cache-config
  readOnly: true
{{- if .Values.images.policy }}
- name: image-policy
  mountPath: /image-policy
  readOnly: true
{{- end }}
{{- include "krmfn.registryMounts" . }}
{{- end }}

{{- define "krmfn.imageWarmerVolumes" -}}
- name: pod-cache-config
  configMap:
    name: pod-cache-config
{{- include "krmfn.imagePolicyVolume" . }}
{{- include "krmfn.registryVolumes" . }}
{{- end }}
