{{/* The files of settings (cli/settings.py), one for each process. */}}

{{- define "sallyport.settings.common" -}}
{{- with .Values.clusterId -}}
cluster_id: {{ . | quote }}
{{ end -}}
namespace: {{ .Release.Namespace }}
log_format: {{ .Values.logFormat }}
status:
  host: 0.0.0.0
  port: 9080
{{- end }}

{{/* Of the processes that judge and record. Takes (dict "root" $ "component" "gate"). */}}
{{- define "sallyport.settings.judging" -}}
{{- $values := .root.Values -}}
{{ include "sallyport.settings.common" .root }}
default_mode: {{ $values.defaultMode }}
controllers: {{ toJson $values.controllers }}
pipelines: {{ toJson $values.pipelines }}
shared_accounts: {{ toJson $values.sharedAccounts }}
approvals:
  profiles: {{ $values.approvals.profiles }}
sandbox:
  runtime: {{ $values.sandbox.runtime }}
  second: {{ $values.sandbox.second | quote }}
  handlers: {{ toJson $values.sandbox.handlers }}
  threshold: {{ int64 $values.sandbox.threshold }}
  points: {{ toJson $values.sandbox.points }}
  gpu_label: {{ $values.sandbox.gpuLabel | quote }}
  new_account_hours: {{ $values.sandbox.newAccountHours }}
{{- include "sallyport.settings.egress" $values.egress }}
{{- if $values.bundle.configMap }}
bundle: /etc/sallyport/bundle/bundle.tar.gz
{{- end }}
max_staleness: {{ $values.maxStalenessSeconds }}
access:
  allow_age: {{ $values.access.allowAgeSeconds }}
  deny_age: {{ $values.access.denyAgeSeconds }}
  timeout: {{ $values.access.timeoutSeconds }}
evaluation:
  seconds: {{ $values.evaluation.seconds }}
  memory_mib: {{ int64 $values.evaluation.memoryMib }}
  remembered: {{ int64 $values.evaluation.remembered }}
record:
  {{- /* Only who answers a request can refuse it; the sweep waits. */}}
  {{- if eq .component "gate" }}
  when_full: {{ $values.record.whenFull }}
  {{- end }}
  lines: {{ $values.record.lines }}
  people: {{ $values.record.people }}
{{- /* Without an auditor nothing would empty the spool: then decisions are logged only. */}}
{{- if $values.auditor.enabled }}
spool:
  folder: /var/lib/sallyport/spool
  max_bytes: {{ mul (int64 (index $values .component).spool.sizeMib) 1048576 }}
shipping:
  url: https://sallyport-auditor.{{ .root.Release.Namespace }}.svc
  ca: /etc/sallyport/shipping/ca.crt
  cert: /etc/sallyport/shipping/tls.crt
  key: /etc/sallyport/shipping/tls.key
{{- end }}
{{- end }}

{{/* Where Pods may connect. Takes the values of egress. */}}
{{- define "sallyport.settings.egress" }}
egress:
  default: {{ .default }}
  excluded: {{ toJson .excludedNamespaces }}
  engine: {{ .engine }}
  cilium_version: {{ .ciliumVersion | quote }}
  sctp: {{ .sctp }}
  floor: {{ .floor }}
  foreign_policies: {{ .foreignPolicies }}
  {{- if .tags.claim }}
  tags: /etc/sallyport/tags/{{ .tags.file }}
  {{- end }}
  ranges: {{ toJson .ranges }}
  dns:
    namespace: {{ .dns.namespace }}
    labels: {{ toJson .dns.labels }}
    addresses: {{ toJson .dns.addresses }}
    port: {{ int64 .dns.port }}
    domain: {{ .dns.domain | quote }}
    search: {{ toJson .dns.search }}
  resolver:
    servers: {{ toJson .resolver.servers }}
    timeout: {{ .resolver.timeoutSeconds }}
    tries: {{ int64 .resolver.tries }}
    at_once: {{ int64 .resolver.atOnce }}
  names:
    window: {{ int64 .names.windowSeconds }}
    min_refresh: {{ int64 .names.minRefreshSeconds }}
    max_refresh: {{ int64 .names.maxRefreshSeconds }}
    max_addresses: {{ int64 .names.maxAddresses }}
  limits:
    ipv4_prefix: {{ int64 .limits.ipv4Prefix }}
    ipv6_prefix: {{ int64 .limits.ipv6Prefix }}
    wildcard_labels: {{ int64 .limits.wildcardLabels }}
    service_tags: {{ toJson .limits.serviceTags }}
{{- end }}

{{- define "sallyport.settings.gate" -}}
{{ include "sallyport.settings.judging" (dict "root" . "component" "gate") }}
listen:
  host: 0.0.0.0
  port: 9443
  cert: /etc/sallyport/tls/tls.crt
  key: /etc/sallyport/tls/tls.key
  {{- if .Values.gate.clientCaConfigMap }}
  client_ca: /etc/sallyport/client-ca/ca.crt
  {{- end }}
  drain_seconds: {{ .Values.gate.drainSeconds }}
  max_body_bytes: {{ int64 .Values.gate.maxBodyBytes }}
  max_held_bytes: {{ int64 .Values.gate.maxHeldBytes }}
{{- end }}

{{- define "sallyport.settings.control" -}}
{{ include "sallyport.settings.judging" (dict "root" . "component" "control") }}
sweep:
  interval: {{ int64 .Values.control.sweep.intervalSeconds }}
  pods_per_second: {{ int64 .Values.control.sweep.podsPerSecond }}
capacity:
  interval: {{ int64 .Values.control.capacity.intervalSeconds }}
  nodes_per_second: {{ int64 .Values.control.capacity.nodesPerSecond }}
discovery:
  search: {{ toJson .Values.control.discovery.search }}
  skip: {{ toJson .Values.control.discovery.skip }}
{{- end }}

{{- define "sallyport.settings.auditor" -}}
{{ include "sallyport.settings.common" . }}
receive:
  host: 0.0.0.0
  port: 9444
  cert: /etc/sallyport/tls/tls.crt
  key: /etc/sallyport/tls/tls.key
  client_ca: /etc/sallyport/tls/ca.crt
ledger:
  keep_days: {{ int64 .Values.auditor.ledger.keepDays }}
  {{- /* PostgreSQL's URL holds a password: it comes from a Secret, as a variable. */}}
  {{- if not .Values.auditor.ledger.existingSecret }}
  url: sqlite:////var/lib/sallyport/ledger/ledger.db
  {{- end }}
{{- end }}
