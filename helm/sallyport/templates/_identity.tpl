{{/* What control mounts to learn of risk, beside its other volumes. */}}

{{- define "sallyport.identity.mounts" -}}
{{- with .Values.identity }}
{{- if .enabled }}
{{- if eq .credential "federated" }}
- {name: entra-token, mountPath: /var/run/secrets/sallyport/entra, readOnly: true}
{{- else if ne .credential "managed-identity" }}
- {name: entra, mountPath: /etc/sallyport/entra, readOnly: true}
{{- end }}
{{- if .trustConfigMap }}
- {name: entra-trust, mountPath: /etc/sallyport/entra-trust, readOnly: true}
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

{{- define "sallyport.identity.volumes" -}}
{{- with .Values.identity }}
{{- if .enabled }}
{{- if eq .credential "federated" }}
# Entra takes this token in place of a key; kubelet renews it.
- name: entra-token
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          audience: {{ .federatedAudience }}
          expirationSeconds: 3600
          path: token
{{- else if ne .credential "managed-identity" }}
- name: entra
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
{{- end }}
{{- with .trustConfigMap }}
- name: entra-trust
  configMap:
    name: {{ . }}
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
