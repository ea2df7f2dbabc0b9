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

{{/*
What of a list of networks is wider in all than a source can be: a /8 of IPv4, a /24 of IPv6, so that
Pods have such addresses too. Empty where nothing is. IPv4 is counted in addresses, IPv6 in networks of
/48, of which a narrower one counts as one; networks that overlap count each. An address of IPv4 that is
written as one of IPv6 counts as what it is: the Pods' network plug-in takes it for one.
*/}}
{{- define "sallyport.network.tooWide" -}}
{{- $names := dict "IPv4" list "IPv6" list }}
{{- $sums := dict "IPv4" 0 "IPv6" 0 }}
{{- range . }}
{{- if kindIs "string" . }}
{{- $family := ternary "IPv6" "IPv4" (contains ":" .) }}
{{- $length := ternary (last (splitList "/" .) | int) 128 (contains "/" .) }}
{{- if and (ge $length 96) (regexMatch "(?i)^[0:]*:ffff:" .) }}
{{- $family = "IPv4" }}
{{- $length = sub $length 96 | int }}
{{- end }}
{{- $size := 1 }}
{{- range until (max 0 (sub (ternary 48 32 (eq $family "IPv6")) $length) | int) }}
{{- $size = mul 2 $size }}
{{- end }}
{{- $_ := set $sums $family (add $size (get $sums $family)) }}
{{- $_ := set $names $family (append (get $names $family) .) }}
{{- end }}
{{- end }}
{{- range $family, $most := dict "IPv4" "/8" "IPv6" "/24" }}
{{- if gt (get $sums $family | int64) 16777216 }}
{{- printf "%s wider in all than a %s of %s" (get $names $family | join ", " | trunc 200) $most $family }}
{{- break }}
{{- end }}
{{- end }}
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

{{/* The addresses of the cluster's DNS that are link-local, so on each node itself; empty for none. */}}
{{- define "sallyport.network.dnsOnNode" -}}
{{- range .Values.egress.dns.addresses }}{{ if or (hasPrefix "169.254." .) (regexMatch "^fe[89ab][0-9a-f]:" (lower .)) }}{{ . }} {{ end }}{{ end }}
{{- end }}

{{/* The Pods of the cluster's DNS, as peers. Takes the values of egress.dns. */}}
{{- define "sallyport.network.dnsPods" -}}
{{- range prepend .others (pick . "namespace" "labels") }}
- namespaceSelector:
    matchLabels: {kubernetes.io/metadata.name: {{ .namespace }}}
  podSelector:
    matchLabels:
      {{- toYaml .labels | nindent 6 }}
{{- end }}
{{- end }}

{{/*
The cluster's DNS, as egress.dns describes it, and the name servers of the component's Pods. Takes
(dict "root" $ "component" "gate").
*/}}
{{- define "sallyport.network.dns" -}}
{{- $servers := (index .root.Values .component).dnsConfig.nameservers | default list }}
{{- with .root.Values.egress.dns }}
- ports:
    - {port: {{ int .port }}, protocol: UDP}
    - {port: {{ int .port }}, protocol: TCP}
  to:
    {{- include "sallyport.network.dnsPods" . | nindent 4 }}
    {{- range concat .addresses $servers }}
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

{{/*
Who may read /metrics: Prometheus, and kube-apiserver's proxy, by which `sallyport status` asks. Takes
(dict "root" $ "component" "gate").
*/}}
{{- define "sallyport.network.metrics" -}}
{{- $port := eq .component "gate" | ternary (include "sallyport.gate.statusPort" .root) 9080 }}
{{- with .root.Values.networkPolicies.metricsFrom.namespaces }}
- ports:
    - {port: {{ $port }}, protocol: TCP}
  from:
    - namespaceSelector:
        matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: In
            values: {{ toJson . }}
      {{- with $.root.Values.networkPolicies.metricsFrom.podLabels }}
      podSelector:
        matchLabels:
          {{- toYaml . | nindent 10 }}
      {{- end }}
{{- end }}
{{- with .root.Values.networkPolicies.webhooksFrom }}
- ports:
    - {port: {{ $port }}, protocol: TCP}
  {{- include "sallyport.network.peers" (dict "word" "from" "addresses" .) | nindent 2 }}
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
