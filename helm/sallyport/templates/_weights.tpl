{{/* Who accesses the model weights: what the auditor and control are told, and what they mount. */}}

{{/* As whom Azure is asked. Takes (dict "root" $ "as" .Values.weights.signIn). */}}
{{- define "sallyport.settings.signIn" -}}
{{- $identity := .root.Values.identity -}}
tenant: {{ .as.tenant | default $identity.tenant | quote }}
client_id: {{ .as.clientId | quote }}
credential: {{ .as.credential }}
{{- if eq .as.credential "federated" }}
token_file: /var/run/secrets/sallyport/entra/token
{{- end }}
{{- if $identity.trustConfigMap }}
trust: /etc/sallyport/entra-trust/ca.crt
{{- end }}
{{- end }}

{{/* Of control: who can open the stores, and what becomes of grants that end. */}}
{{- define "sallyport.settings.granting" }}
weights:
  grants:
    when_ended: {{ .Values.weights.grants.whenEnded }}
  {{- with .Values.weights.azure }}
  {{- if .enabled }}
  azure:
    enabled: true
    {{- $as := dict "tenant" .tenant "clientId" (.clientId | default $.Values.identity.clientId) "credential" .credential }}
    {{- include "sallyport.settings.signIn" (dict "root" $ "as" $as) | nindent 4 }}
    authority: {{ $.Values.identity.authority | quote }}
    manager: {{ .manager | quote }}
    every: {{ .everySeconds }}
    just_in_time: {{ .justInTime }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* Of the auditor: where logs of storage are, and how they are read. */}}
{{- define "sallyport.settings.accesses" }}
{{- $trust := .Values.identity.trustConfigMap }}
{{- with .Values.weights }}
weights:
  {{- if .folder.claim }}
  folder: /var/lib/sallyport/logs
  {{- end }}
  container:
    site: {{ .container.site | quote }}
    containers: {{ toJson .container.containers }}
    {{- if and $trust .container.site }}
    trust: /etc/sallyport/entra-trust/ca.crt
    {{- end }}
  event_hub:
    servers: {{ toJson .eventHub.servers }}
    topics: {{ toJson .eventHub.topics }}
    {{- if .eventHub.existingSecret }}
    connection_string_file: /etc/sallyport/log-hub/connection-string
    {{- end }}
    allow_connection_string: {{ .eventHub.allowConnectionString }}
    {{- if and $trust .eventHub.servers (not .eventHub.existingSecret) }}
    trust: /etc/sallyport/entra-trust/ca.crt
    {{- end }}
  networks:
    pods: {{ toJson .networks.pods }}
    nodes: {{ toJson .networks.nodes }}
    others: {{ toJson .networks.others }}
    shared: {{ toJson .networks.shared }}
    leaves_as: {{ .networks.leavesAs }}
  poll_every: {{ .pollEverySeconds }}
  patience: {{ .patienceSeconds }}
  token_hours: {{ .tokenHours }}
  delay: {{ .delaySeconds }}
  most_pods: {{ int64 .mostPods }}
  node_identities: {{ toJson .nodeIdentities }}
  tenants: {{ toJson .tenants }}
  subscriptions: {{ toJson .subscriptions }}
  tuning: {{ toJson .tuning }}
  expected: {{ toJson .expected }}
{{- end }}
{{- end }}

{{/* Where heads of the log are anchored. Takes the values of auditor.ledger.anchors. */}}
{{- define "sallyport.settings.anchors" -}}
{{- if .file.claim }}
- file: /var/lib/sallyport/anchor/{{ .file.name }}
{{- end }}
{{- if .blob }}
- blob: {{ .blob | quote }}
{{- end }}
{{- if .configMap.name }}
- config_map: {{ .configMap.name | quote }}
  kubeconfig: /etc/sallyport/anchor/kubeconfig
{{- end }}
{{- if .witness.url }}
- witness: {{ .witness.url | quote }}
  witness_key: {{ .witness.key | quote }}
  {{- if .witness.caSecret }}
  trust: /etc/sallyport/witness/ca.crt
  {{- end }}
{{- end }}
{{- end }}

{{/* Not empty where the auditor asks Azure for anything. */}}
{{- define "sallyport.auditor.signsIn" -}}
{{- $hub := .Values.weights.eventHub -}}
{{- if or .Values.weights.container.site .Values.auditor.ledger.anchors.blob .Values.auditor.ledger.entra.server (and $hub.servers (not $hub.existingSecret)) (include "sallyport.notifications.signsIn" .) -}}
yes
{{- end -}}
{{- end }}

{{/* Not empty where control needs a token that Entra takes. */}}
{{- define "sallyport.control.federated" -}}
{{- $azure := .Values.weights.azure -}}
{{- if or (and .Values.identity.enabled (eq .Values.identity.credential "federated")) (and $azure.enabled (eq $azure.credential "federated")) -}}
yes
{{- end -}}
{{- end }}

{{/* What the auditor mounts of it, beside its other volumes. */}}
{{- define "sallyport.auditor.mounts" -}}
- {name: signing, mountPath: /etc/sallyport/signing, readOnly: true}
{{- with .Values.weights }}
{{- if .folder.claim }}
- name: logs
  mountPath: /var/lib/sallyport/logs
  readOnly: true
  {{- with .folder.path }}
  subPath: {{ . | quote }}
  {{- end }}
{{- end }}
{{- if .eventHub.existingSecret }}
- {name: log-hub, mountPath: /etc/sallyport/log-hub, readOnly: true}
{{- end }}
{{- end }}
{{- with .Values.auditor.ledger.anchors }}
{{- if .file.claim }}
- {name: anchor, mountPath: /var/lib/sallyport/anchor}
{{- end }}
{{- if .configMap.name }}
- {name: anchor-kubeconfig, mountPath: /etc/sallyport/anchor, readOnly: true}
{{- end }}
{{- if and .witness.url .witness.caSecret }}
- {name: witness-ca, mountPath: /etc/sallyport/witness, readOnly: true}
{{- end }}
{{- end }}
{{- if .Values.auditor.ledger.timestamp.url }}
- {name: timestamp-ca, mountPath: /etc/sallyport/timestamp, readOnly: true}
{{- end }}
{{- if include "sallyport.auditor.signsIn" . }}
{{- if eq .Values.weights.signIn.credential "federated" }}
- {name: entra-token, mountPath: /var/run/secrets/sallyport/entra, readOnly: true}
{{- end }}
{{- if .Values.identity.trustConfigMap }}
- {name: entra-trust, mountPath: /etc/sallyport/entra-trust, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "sallyport.auditor.volumes" -}}
{{- $ledger := .Values.auditor.ledger -}}
# Made by control, unless a Secret is named; of it the key alone that signs now.
- name: signing
  secret:
    secretName: {{ $ledger.signingSecret | default "sallyport-ledger-signing" }}
    defaultMode: 0440
    items:
      - {key: current.key, path: current.key}
{{- with .Values.weights }}
{{- with .folder.claim }}
- name: logs
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- with .eventHub.existingSecret }}
- name: log-hub
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- with $ledger.anchors.file.claim }}
- name: anchor
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- if $ledger.anchors.configMap.name }}
- name: anchor-kubeconfig
  secret:
    secretName: {{ $ledger.anchors.configMap.kubeconfigSecret }}
    defaultMode: 0440
{{- end }}
{{- if and $ledger.anchors.witness.url $ledger.anchors.witness.caSecret }}
- name: witness-ca
  secret:
    secretName: {{ $ledger.anchors.witness.caSecret }}
    defaultMode: 0440
{{- end }}
{{- if $ledger.timestamp.url }}
- name: timestamp-ca
  secret:
    secretName: {{ $ledger.timestamp.caSecret }}
    defaultMode: 0440
{{- end }}
{{- if include "sallyport.auditor.signsIn" . }}
{{- if eq .Values.weights.signIn.credential "federated" }}
{{ include "sallyport.entraToken" . }}
{{- end }}
{{- with .Values.identity.trustConfigMap }}
- name: entra-trust
  configMap:
    name: {{ . }}
{{- end }}
{{- end }}
{{- end }}
