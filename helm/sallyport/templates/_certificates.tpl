{{/* Who signs where cert-manager makes certificates: the issuer that is named, else the chart's own. */}}
{{- define "sallyport.issuerRef" -}}
{{- $issuer := .Values.certificates.certManager.issuer -}}
issuerRef:
  group: {{ $issuer.group }}
  kind: {{ ternary $issuer.kind "Issuer" (ne $issuer.name "") }}
  name: {{ $issuer.name | default "sallyport" }}
{{- end }}

{{/* The lifetimes of a leaf: replaced with a third of it left, as control does it. */}}
{{- define "sallyport.leafTimes" -}}
duration: {{ mul (int64 .Values.certificates.leafDays) 24 }}h
renewBefore: {{ mul (int64 .Values.certificates.leafDays) 8 }}h
privateKey:
  algorithm: ECDSA
  size: 256
  rotationPolicy: Always
{{- end }}

{{/* The names of a Service's certificate. Takes (dict "root" $ "service" "sallyport-gate"). */}}
{{- define "sallyport.serviceNames" -}}
{{- $full := printf "%s.%s.svc" .service .root.Release.Namespace -}}
dnsNames: [{{ $full }}, {{ $full }}.cluster.local, {{ .service }}.{{ .root.Release.Namespace }}, {{ .service }}, localhost]
{{- end }}

{{/* By which cert-manager puts the CA into a webhook configuration; control does where it signs. */}}
{{- define "sallyport.injectCa" -}}
{{- if eq .Values.certificates.source "cert-manager" }}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/sallyport-gate-tls
{{- end }}
{{- end }}
