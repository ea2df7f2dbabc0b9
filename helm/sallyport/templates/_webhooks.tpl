{{/* The namespaces that are left out, by name, as a YAML list. */}}
{{- define "sallyport.excluded" -}}
{{- concat (list "kube-system" "kube-node-lease" .Release.Namespace) .Values.webhooks.excludedNamespaces | uniq | toYaml -}}
{{- end }}

{{/*
What all webhooks have in common. Takes (dict "root" $ "path" "/validate").

No caBundle: control puts it there, and an upgrade, which does not know the field, leaves it.
Few matchConditions, and only for what must go on without a gate: `rules` already name only what is
judged, so that node leases, token and access reviews, events and Pod status never come here; each
condition would be one more way around, or, where it fails, one more refusal that the gate cannot
explain.
*/}}
{{- define "sallyport.webhook" -}}
{{ include "sallyport.webhookEverywhere" . }}
namespaceSelector:
  matchExpressions:
    # By name, which nobody can set, not by a label that somebody can. A Namespace is matched by its
    # own labels.
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
        {{- include "sallyport.excluded" .root | nindent 8 }}
{{- end }}

{{/* The same for what is guarded in every namespace, also in those that are left out. */}}
{{- define "sallyport.webhookEverywhere" -}}
admissionReviewVersions: [v1]
sideEffects: None
matchPolicy: Equivalent
clientConfig:
  service:
    namespace: {{ .root.Release.Namespace }}
    name: sallyport-gate
    path: {{ .path }}
    port: 443
{{- end }}
