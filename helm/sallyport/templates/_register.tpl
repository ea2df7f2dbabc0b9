{{/*
Not empty where the webhooks are registered. Into a cluster they go once a gate is ready, or where they
are already: an installation that fails must not keep anybody's Pods from starting, and an upgrade
must not take them away because gates are away. `helm template` sees no cluster, and renders them.
*/}}
{{- define "sallyport.registers" -}}
{{- $webhooks := .Values.webhooks -}}
{{- if and $webhooks.enabled (or (not $webhooks.whenReady) (include "sallyport.ready" .)) -}}
yes
{{- end -}}
{{- end }}

{{/* Not empty without a cluster, with a gate that is ready, or where the webhooks are registered. */}}
{{- define "sallyport.ready" -}}
{{- if not (lookup "v1" "Namespace" "" "kube-system") -}}
no cluster
{{- else if lookup "admissionregistration.k8s.io/v1" "ValidatingWebhookConfiguration" "" "sallyport" -}}
registered
{{- else -}}
{{- $gate := lookup "apps/v1" (include "sallyport.gate.kind" .) .Release.Namespace "sallyport-gate" -}}
{{- if gt (dig "status" "readyReplicas" 0 $gate | int) 0 -}}
a gate
{{- end -}}
{{- end -}}
{{- end }}
