{{- /*
Copyright The krmfn Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /*
Whether the last run of a CronJob failed, or a run is an hour late: include "krmfn.cronJobFails" (list . NAME). The expression uses metrics of
kube-state-metrics. Without them, the alert never fires.
*/ -}}
{{- define "krmfn.cronJobFails" -}}
{{- $of := printf "{namespace=%q, cronjob=%q}" (index . 0).Release.Namespace (index . 1) -}}
max by (cronjob) (kube_cronjob_status_last_schedule_time{{ $of }})
  > on (cronjob) (max by (cronjob) (kube_cronjob_status_last_successful_time{{ $of }}) or max by (cronjob) (kube_cronjob_status_last_schedule_time{{ $of }}) * 0)
or time() - max by (cronjob) (kube_cronjob_next_schedule_time{{ $of }}) > 3600
{{- end }}

{{- define "krmfn.imageWarmerAlerts" -}}
{{- $runbook := .Values.monitoring.prometheusRule.runbookUrl -}}
{{- $of := printf "job=\"image-warmer-metrics\", namespace=%q" .Release.Namespace -}}
{{- if include "krmfn.warms" . }}
{{- with .Values.imageWarmer }}
- alert: KrmfnImageWarmerFails
  {{- /* The image warmer retries failures on one node only there, and repeats the run for all nodes only after the interval. */}}
  expr: |
    absent(time() - krm_warmer_last_success_timestamp_seconds{ {{- $of }}} < {{ add (mul 2 (include "krmfn.seconds" .interval)) (include "krmfn.seconds" .timeout) }})
  for: {{ add (include "krmfn.seconds" .timeout) 600 }}s
  labels:
    severity: warning
  annotations:
    summary: >-
      Runs of the image warmer fail or do not start
    description: >-
      Calls that need a new pod may wait for a registry or a pull. The log of the image warmer has a report of each run with the images and nodes that failed.
    runbook_url: {{ $runbook }}#krmfnimagewarmerfails
- alert: KrmfnImageWarmerLookupsFail
  expr: |
    sum(krm_warmer_images{ {{- $of }}, state=~"failed|kept"}) > 0
  for: 1h
  labels:
    severity: warning
  annotations:
    summary: >-
      The image warmer cannot look up {{ "{{ $value }}" }} images
    description: >-
      Their registry does not answer, does not have them, or denies access. Functions whose images are not known yet fail. The log of the image warmer names images and reasons.
    runbook_url: {{ $runbook }}#krmfnimagewarmerlookupsfail
{{- end }}
{{- end }}
{{- end }}

{{- define "krmfn.podJanitorAlerts" -}}
{{- if .Values.podJanitor.enabled }}
- alert: KrmfnPodJanitorFails
  expr: |
    {{- include "krmfn.cronJobFails" (list . "pod-janitor") | nindent 4 }}
  {{- /* A run ends after 5 minutes. */}}
  for: 15m
  labels:
    severity: warning
  annotations:
    summary: >-
      Runs of the pod janitor fail or do not start
    description: >-
      Function pods that no function runner manages may stay and use up the quota. The log of the CronJob's last Job has the reason.
    runbook_url: {{ .Values.monitoring.prometheusRule.runbookUrl }}#krmfnpodjanitorfails
{{- end }}
{{- end }}
