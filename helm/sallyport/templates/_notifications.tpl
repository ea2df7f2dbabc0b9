{{/* Who is told what the ledger has: what the auditor is told of sinks, mounts and reaches. */}}

{{- define "sallyport.settings.notifications" }}
{{- with .Values.notifications }}
notifications:
  give_up_hours: {{ .giveUpHours }}
  ends_days: {{ .endsDays }}
  waits_hours: {{ .waitsHours }}
  {{- with .sinks }}
  sinks:
    {{- range . }}
    - name: {{ .name | quote }}
      kind: {{ .kind }}
      {{- with .atLeast }}
      at_least: {{ . }}
      {{- end }}
      {{- with .stores }}
      stores: {{ toJson . }}
      {{- end }}
      {{- with .events }}
      events: {{ toJson . }}
      {{- end }}
      {{- with .since }}
      since: {{ . | quote }}
      {{- end }}
      {{- with .url }}
      url: {{ . | quote }}
      {{- end }}
      {{- with .server }}
      server: {{ . | quote }}
      {{- end }}
      {{- with .servers }}
      servers: {{ toJson . }}
      {{- end }}
      {{- with .topic }}
      topic: {{ . | quote }}
      {{- end }}
      {{- with .signIn }}
      sign_in: {{ . }}
      {{- end }}
      {{- with .endpoint }}
      endpoint: {{ . | quote }}
      {{- end }}
      {{- with .rule }}
      rule: {{ . }}
      {{- end }}
      {{- with .stream }}
      stream: {{ . | quote }}
      {{- end }}
      {{- with .tls }}
      tls: {{ . }}
      {{- end }}
      {{- with .sender }}
      sender: {{ . | quote }}
      {{- end }}
      {{- with .recipients }}
      recipients: {{ toJson . }}
      {{- end }}
      {{- if .existingSecret }}
      secrets: /etc/sallyport/notifications/{{ .name }}
      {{- end }}
      {{- if .trustConfigMap }}
      trust: /etc/sallyport/notifications-trust/{{ .name }}/ca.crt
      {{- end }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* No subPath: a Secret that is renewed must reach the process. */}}
{{- define "sallyport.notifications.mounts" -}}
{{- range .Values.notifications.sinks }}
{{- if .existingSecret }}
- {name: sink-{{ .name }}, mountPath: /etc/sallyport/notifications/{{ .name }}, readOnly: true}
{{- end }}
{{- if .trustConfigMap }}
- {name: sink-trust-{{ .name }}, mountPath: /etc/sallyport/notifications-trust/{{ .name }}, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- define "sallyport.notifications.volumes" -}}
{{- range .Values.notifications.sinks }}
{{- if .existingSecret }}
- name: sink-{{ .name }}
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if .trustConfigMap }}
- name: sink-trust-{{ .name }}
  configMap:
    name: {{ .trustConfigMap }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty where a sink is told by whom Entra ID knows. */}}
{{- define "sallyport.notifications.signsIn" -}}
{{- range .Values.notifications.sinks }}
{{- if or (eq .kind "sentinel") (eq (.signIn | default "") "entra") -}}
yes
{{- end -}}
{{- end -}}
{{- end }}

{{/* The ports on which sinks are reached, as JSON. */}}
{{- define "sallyport.notifications.ports" -}}
{{- $ports := list }}
{{- range .Values.notifications.sinks }}
{{- $hosts := .servers | default (list (.server | default "")) }}
{{- with .url | default .endpoint }}
{{- $hosts = list (urlParse .).host }}
{{- end }}
{{- range $hosts }}
{{- $ports = append $ports (regexFind "[0-9]+$" (regexFind ":[0-9]+$" .) | default "443" | int) }}
{{- end }}
{{- end }}
{{- range .Values.networkPolicies.notificationPorts }}
{{- $ports = append $ports (int .) }}
{{- end }}
{{- toJson $ports }}
{{- end }}
