{{/* What control mounts to learn of risk, beside its other volumes. */}}

{{- define "sallyport.identity.mounts" -}}
{{- if include "sallyport.control.federated" . }}
- {name: entra-token, mountPath: /var/run/secrets/sallyport/entra, readOnly: true}
{{- end }}
{{- if and .Values.identity.trustConfigMap (or .Values.identity.enabled .Values.weights.azure.enabled) }}
- {name: entra-trust, mountPath: /etc/sallyport/entra-trust, readOnly: true}
{{- end }}
{{- with .Values.identity }}
{{- if .enabled }}
{{- if has .credential (list "certificate" "secret") }}
- {name: entra, mountPath: /etc/sallyport/entra, readOnly: true}
{{- end }}
{{- if eq .eventHub.auth "connection-string" }}
- {name: event-hub, mountPath: /etc/sallyport/event-hub, readOnly: true}
{{- end }}
{{- if .securityEvents.issuer }}
- {name: security-events, mountPath: /etc/sallyport/security-events, readOnly: true}
{{- if .securityEvents.tokenSecret }}
- {name: transmitter, mountPath: /etc/sallyport/transmitter, readOnly: true}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A volume with a token that Entra takes in place of a key; kubelet renews it. */}}
{{- define "sallyport.entraToken" -}}
- name: entra-token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          audience: {{ .Values.identity.federatedAudience }}
          expirationSeconds: 3600
          path: token
{{- end }}

{{- define "sallyport.identity.volumes" -}}
{{- if include "sallyport.control.federated" . }}
{{ include "sallyport.entraToken" . }}
{{- end }}
{{- if and .Values.identity.trustConfigMap (or .Values.identity.enabled .Values.weights.azure.enabled) }}
- name: entra-trust
  configMap:
    name: {{ .Values.identity.trustConfigMap }}
{{- end }}
{{- with .Values.identity }}
{{- if .enabled }}
{{- if has .credential (list "certificate" "secret") }}
- name: entra
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if eq .eventHub.auth "connection-string" }}
- name: event-hub
  secret:
    secretName: {{ .eventHub.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .securityEvents.issuer }}
- name: security-events
  secret:
    secretName: {{ .securityEvents.tlsSecret }}
    defaultMode: 0440
{{- with .securityEvents.tokenSecret }}
- name: transmitter
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secrets that hold the base of the risk snapshot: two generations. */}}
{{- define "sallyport.riskShards" -}}
{{- range $generation := list "a" "b" }}
{{- range $shard := until 16 }}
- sallyport-risk-{{ $generation }}{{ $shard }}
{{- end }}
{{- end }}
{{- end }}
