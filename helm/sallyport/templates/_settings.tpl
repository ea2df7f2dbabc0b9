{{/* The files of settings (app/settings/root.py), one for each process. */}}

{{/* Of all processes. Takes (dict "root" $ "component" "gate"). */}}
{{- define "sallyport.settings.common" -}}
{{- with .root.Values.clusterId -}}
cluster_id: {{ . | quote }}
{{ end -}}
namespace: {{ .root.Release.Namespace }}
log_format: {{ .root.Values.logFormat }}
log_level: {{ .root.Values.logLevel }}
status:
  host: 0.0.0.0
  port: {{ eq .component "gate" | ternary (include "sallyport.gate.statusPort" .root) 9080 }}
{{- end }}

{{/* Of the processes that judge and record. Takes (dict "root" $ "component" "gate"). */}}
{{- define "sallyport.settings.judging" -}}
{{- $values := .root.Values -}}
{{ include "sallyport.settings.common" . }}
default_mode: {{ include "sallyport.defaultMode" .root }}
when_field_unknown: {{ $values.whenFieldUnknown }}
rollout:
  least: {{ $values.rollout.least }}
  new: {{ $values.rollout.new | quote }}
  new_since: {{ $values.rollout.newSince | quote }}
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
{{- include "sallyport.settings.egress" (merge (dict "component" .component) $values.egress) }}
{{- if $values.bundle.configMap }}
bundle: /etc/sallyport/bundle/bundle.tar.gz
{{- end }}
{{- $source := and (eq .component "control") $values.bundle.source.oci }}
{{- if or $values.bundle.keys $source }}
bundles:
  {{- with $values.bundle.keys }}
  keys:
    {{- range $id, $_ := . }}
    {{ $id | quote }}: /etc/sallyport/config/bundle-key-{{ $id }}.pem
    {{- end }}
  {{- end }}
  {{- if $source }}
  {{- with $values.bundle.source }}
  source:
    oci: {{ .oci | quote }}
    interval: {{ int64 .everySeconds }}
    unsigned: {{ .unsigned }}
    username: {{ .username | quote }}
    {{- if .caPem }}
    ca_file: /etc/sallyport/config/bundle-source-ca.pem
    {{- end }}
    {{- if .passwordSecret }}
    password_file: /etc/sallyport/registry/password
    {{- end }}
  {{- end }}
  {{- end }}
{{- end }}
{{- if and (eq .component "gate") $values.shadow.configMap }}
shadow:
  bundle: /etc/sallyport/shadow/bundle.tar.gz
  budget: {{ $values.shadow.budget }}
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
  engine: {{ $values.evaluation.engine }}
  {{- include "sallyport.opa.settings" .root | nindent 2 }}
record:
  {{- /* Only who answers a request can refuse it; the sweep waits. */}}
  {{- if eq .component "gate" }}
  when_full: {{ $values.record.whenFull | default "refuse" }}
  other_gates: {{ or (gt (int $values.gate.replicas) 1) $values.gate.autoscaling.enabled }}
  refusals_per_minute: {{ int64 $values.record.refusalsPerMinute }}
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
{{- if and (eq .component "gate") (ne $values.auditor.gateInstances "off") }}
  token: /etc/sallyport/instance/token
{{- end }}
{{- end }}
{{- end }}

{{/* Where Pods may connect. Takes the values of egress, with the component. */}}
{{- define "sallyport.settings.egress" }}
egress:
  default: {{ .default }}
  approve: {{ .approve }}
  excluded: {{ toJson .excludedNamespaces }}
  engine: {{ .engine }}
  cilium_version: {{ .ciliumVersion | quote }}
  ip_families: {{ toJson .ipFamilies }}
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
    others: {{ toJson .dns.others }}
    addresses: {{ toJson .dns.addresses }}
    port: {{ int64 .dns.port }}
    domain: {{ .dns.domain | quote }}
    search: {{ toJson .dns.search }}
  resolver:
    servers: {{ toJson .resolver.servers }}
    pods: {{ .resolver.pods }}
    timeout: {{ .resolver.timeoutSeconds }}
    tries: {{ int64 .resolver.tries }}
    at_once: {{ int64 .resolver.atOnce }}
  {{- if and .dnsLog.serverName (eq .component "control") }}
  dns_log:
    server_name: {{ .dnsLog.serverName | quote }}
    port: {{ int64 .dnsLog.port }}
    ca: /etc/sallyport/dns-log/ca.crt
    cert: /etc/sallyport/dns-log/tls.crt
    key: /etc/sallyport/dns-log/tls.key
  {{- end }}
  names:
    window: {{ int64 .names.windowSeconds }}
    min_refresh: {{ int64 .names.minRefreshSeconds }}
    max_refresh: {{ int64 .names.maxRefreshSeconds }}
    max_addresses: {{ int64 .names.maxAddresses }}
    quiet: {{ int64 .names.quietSeconds }}
    burst_questions: {{ int64 .names.burstQuestions }}
    burst_name_questions: {{ int64 .names.burstNameQuestions }}
  limits:
    ipv4_prefix: {{ int64 .limits.ipv4Prefix }}
    ipv6_prefix: {{ int64 .limits.ipv6Prefix }}
    wildcard_labels: {{ int64 .limits.wildcardLabels }}
    ports: {{ int64 .limits.ports }}
    service_tags: {{ toJson .limits.serviceTags }}
{{- end }}

{{/* What judging needs of identity. Takes the values of identity. */}}
{{- define "sallyport.settings.identity" }}
identity:
  enabled: {{ .enabled }}
  tenant: {{ .tenant | quote }}
  max_age: {{ .maxAgeSeconds }}
  revoked_for: {{ .revokedForSeconds }}
  suspend_exceptions: {{ .suspendExceptions }}
{{- end }}

{{/* How control learns of risk: goes on with the section. Takes the values of identity. */}}
{{- define "sallyport.settings.learning" }}
  client_id: {{ .clientId | quote }}
  credential: {{ .credential }}
  {{- if eq .credential "federated" }}
  token_file: /var/run/secrets/sallyport/entra/token
  {{- else if eq .credential "certificate" }}
  certificate: /etc/sallyport/entra/certificate.pem
  {{- else if eq .credential "secret" }}
  secret_file: /etc/sallyport/entra/client-secret
  {{- end }}
  allow_secret: {{ .allowSecret }}
  authority: {{ .authority | quote }}
  graph: {{ .graph | quote }}
  {{- if .trustConfigMap }}
  trust: /etc/sallyport/entra-trust/ca.crt
  {{- end }}
  rate: {{ .rateSeconds }}
  poll_every: {{ .pollEverySeconds }}
  full_every: {{ int64 .fullEverySeconds }}
  guests: {{ .guests }}
  event_hub:
    servers: {{ toJson .eventHub.servers }}
    topics: {{ toJson .eventHub.topics }}
    group: {{ .eventHub.group | quote }}
    auth: {{ .eventHub.auth }}
    {{- if eq .eventHub.auth "connection-string" }}
    connection_string_file: /etc/sallyport/event-hub/connection-string
    {{- end }}
    allow_connection_string: {{ .eventHub.allowConnectionString }}
  {{- with .securityEvents }}
  {{- if .issuer }}
  security_events:
    host: 0.0.0.0
    port: 9445
    cert: /etc/sallyport/security-events/tls.crt
    key: /etc/sallyport/security-events/tls.key
    issuer: {{ .issuer | quote }}
    audience: {{ .audience | quote }}
    keys_url: {{ .keysUrl | quote }}
    {{- if .tokenSecret }}
    token_file: /etc/sallyport/transmitter/token
    {{- end }}
  {{- end }}
  {{- end }}
  behaviour:
    enabled: {{ .behaviour.enabled }}
    every: {{ .behaviour.everySeconds }}
  look_back:
    enabled: {{ .lookBack.enabled }}
    days: {{ int64 .lookBack.days }}
{{- end }}

{{- define "sallyport.settings.gate" -}}
{{ include "sallyport.settings.judging" (dict "root" . "component" "gate") }}
{{- include "sallyport.settings.identity" .Values.identity }}
listen:
  host: 0.0.0.0
  port: {{ include "sallyport.gate.port" . }}
  cert: /etc/sallyport/tls/tls.crt
  key: /etc/sallyport/tls/tls.key
  {{- if .Values.gate.clientCaConfigMap }}
  client_ca: /etc/sallyport/client-ca/ca.crt
  client_names: {{ toJson .Values.gate.clientNames }}
  {{- end }}
  drain_seconds: {{ .Values.gate.drainSeconds }}
  max_body_bytes: {{ int64 .Values.gate.maxBodyBytes }}
  max_held_bytes: {{ int64 .Values.gate.maxHeldBytes }}
{{- end }}

{{- define "sallyport.settings.control" -}}
{{ include "sallyport.settings.judging" (dict "root" . "component" "control") }}
{{- include "sallyport.settings.identity" .Values.identity }}
{{- if .Values.identity.enabled }}
{{- include "sallyport.settings.learning" .Values.identity }}
{{- end }}
sweep:
  interval: {{ int64 .Values.control.sweep.intervalSeconds }}
  pods_per_second: {{ int64 .Values.control.sweep.podsPerSecond }}
capacity:
  interval: {{ int64 .Values.control.capacity.intervalSeconds }}
  nodes_per_second: {{ int64 .Values.control.capacity.nodesPerSecond }}
discovery:
  search: {{ toJson .Values.control.discovery.search }}
  skip: {{ toJson .Values.control.discovery.skip }}
certificates:
  source: {{ .Values.certificates.source }}
  authority_days: {{ int64 .Values.certificates.authorityDays }}
  leaf_days: {{ int64 .Values.certificates.leafDays }}
  distribution_seconds: {{ int64 .Values.certificates.distributionSeconds }}
{{- include "sallyport.settings.granting" . }}
{{- end }}

{{/* For how many whole hours the spools of all gates keep what 20 Pods a second make: 2 records of 2 KiB each. */}}
{{- define "sallyport.spool.hours" -}}
{{- div (mul 1024 .Values.gate.spool.sizeMib .Values.gate.replicas) (mul 20 2 2 3600) }}
{{- end }}

{{/* MiB of a quantity in Mi, Gi or Ti, as the schema demands. */}}
{{- define "sallyport.mib" -}}
{{- mul (regexFind "^[0-9]+" . | int64) (get (dict "Mi" 1 "Gi" 1024 "Ti" 1048576) (regexFind "[MGT]i$" .)) }}
{{- end }}

{{/* Not empty where the ledger is in PostgreSQL. */}}
{{- define "sallyport.ledger.postgres" -}}
{{- with .Values.auditor.ledger }}{{ .existingSecret | default .entra.server }}{{ end }}
{{- end }}

{{- define "sallyport.settings.auditor" -}}
{{ include "sallyport.settings.common" (dict "root" . "component" "auditor") }}
receive:
  host: 0.0.0.0
  port: 9444
  cert: /etc/sallyport/tls/tls.crt
  key: /etc/sallyport/tls/tls.key
  client_ca: /etc/sallyport/tls/ca.crt
  instances: {{ .Values.auditor.gateInstances | quote }}
  gate_account: {{ .Release.Namespace }}/sallyport-gate
{{- if .Values.auditor.explain.enabled }}
explain:
  host: 0.0.0.0
  port: 9445
{{- end }}
ledger:
  keep_days: {{ int64 .Values.auditor.ledger.keepDays }}
  max_refusal_mib: {{ int64 .Values.auditor.ledger.maxRefusalMib }}
  {{- /* Not of `size`: volumes are enlarged without it. The auditor measures what its volume has. */}}
  {{- with .Values.auditor.ledger.maxMib }}
  max_mib: {{ int64 . }}
  {{- end }}
  compress: {{ .Values.auditor.ledger.compress }}
  hold: {{ toJson .Values.auditor.ledger.hold }}
  head_every_s: {{ .Values.auditor.ledger.headEverySeconds }}
  signing_key: /etc/sallyport/signing/current.key
  {{- with include "sallyport.settings.anchors" .Values.auditor.ledger.anchors | trim }}
  anchors:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with .Values.auditor.ledger.timestamp }}
  {{- if .url }}
  timestamp:
    url: {{ .url | quote }}
    ca: /etc/sallyport/timestamp/ca.crt
    file: /var/lib/sallyport/anchor/timestamps.jsonl
    every_s: {{ .everySeconds }}
  {{- end }}
  {{- end }}
  {{- /* PostgreSQL's URL holds a password: it comes from a Secret, as a variable. */}}
  {{- with .Values.auditor.ledger.entra }}
  {{- if .server }}
  url: {{ printf "postgresql://%s@%s:%d/%s" (.user | urlquery | replace "+" "%20") .server (int64 $.Values.networkPolicies.database.port) .database | quote }}
  sign_in: entra
  {{- end }}
  {{- end }}
  {{- if not (include "sallyport.ledger.postgres" .) }}
  url: sqlite:////var/lib/sallyport/ledger/ledger.db
  {{- end }}
{{- include "sallyport.settings.accesses" . }}
{{- include "sallyport.settings.notifications" . }}
{{- if include "sallyport.auditor.signsIn" . }}
identity:
  {{- include "sallyport.settings.signIn" (dict "root" . "as" .Values.weights.signIn) | nindent 2 }}
  authority: {{ .Values.identity.authority | quote }}
{{- end }}
{{- end }}
