{{/* NetworkPolicies of its own Pods: what of peers and ports they have in common. */}}

{{/*
Peers by address, or as a NetworkPolicy has them; without any the port is open to all. Takes
(dict "word" "to" "addresses" list).
*/}}
{{- define "sallyport.network.peers" -}}
{{- if .addresses -}}
{{ .word }}:
  {{- range .addresses }}
  {{- if kindIs "string" . }}
  - ipBlock: {cidr: {{ . | quote }}}
  {{- else }}
  - {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}
{{- end }}

{{/* Ports, as a YAML list. Takes the list of numbers. */}}
{{- define "sallyport.network.ports" -}}
{{- range . | uniq }}
- {port: {{ int . }}, protocol: TCP}
{{- end }}
{{- end }}

{{/* Rule of egress to addresses and ports. Takes (dict "addresses" list "ports" list). */}}
{{- define "sallyport.network.out" -}}
- ports:
    {{- include "sallyport.network.ports" .ports | nindent 4 }}
  {{- with include "sallyport.network.peers" (dict "word" "to" "addresses" .addresses) }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* kube-apiserver. Its addresses differ from cluster to cluster and change: open by port unless they are named. */}}
{{- define "sallyport.network.kubeApiServer" -}}
{{- with .Values.networkPolicies.kubeApiServer }}
{{- include "sallyport.network.out" (dict "addresses" .addresses "ports" .ports) }}
{{- end }}
{{- end }}

{{/* The cluster's DNS, as egress.dns describes it. */}}
{{- define "sallyport.network.dns" -}}
{{- with .Values.egress.dns }}
- ports:
    - {port: {{ int .port }}, protocol: UDP}
    - {port: {{ int .port }}, protocol: TCP}
  to:
    - namespaceSelector:
        matchLabels: {kubernetes.io/metadata.name: {{ .namespace }}}
      podSelector:
        matchLabels:
          {{- toYaml .labels | nindent 10 }}
    {{- range .addresses }}
    - ipBlock: {cidr: {{ ternary . (printf "%s/%s" . (ternary "128" "32" (contains ":" .))) (contains "/" .) | quote }}}
    {{- end }}
{{- end }}
{{- end }}

{{/* Pods of a component of this release. Takes (dict "root" $ "component" "auditor"). */}}
{{- define "sallyport.network.own" -}}
- podSelector:
    matchLabels:
      {{- include "sallyport.selector" . | nindent 6 }}
{{- end }}

{{/* Who may read /metrics. */}}
{{- define "sallyport.network.metrics" -}}
{{- with .Values.networkPolicies.metricsFrom.namespaces }}
- ports:
    - {port: 9080, protocol: TCP}
  from:
    - namespaceSelector:
        matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: In
            values: {{ toJson . }}
{{- end }}
{{- end }}

{{/* The ports of "host:port" strings, beside HTTPS. Takes the list. */}}
{{- define "sallyport.network.portsOf" -}}
{{- $ports := list 443 }}
{{- range . }}
{{- $ports = append $ports (splitList ":" . | last | int) }}
{{- end }}
{{- toJson $ports }}
{{- end }}
