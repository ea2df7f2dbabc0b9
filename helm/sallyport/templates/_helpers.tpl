{{/* The recommended labels. Takes (dict "root" $ "component" "gate"). */}}
{{- define "sallyport.labels" -}}
{{ include "sallyport.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sallyport
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The labels that never change: selectors, and what Kubernetes lets nobody change. */}}
{{- define "sallyport.selector" -}}
app.kubernetes.io/name: sallyport
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "sallyport.image" -}}
{{- $image := .Values.image -}}
{{- $repository := required "image.repository: name the repository that holds Sallyport's image; there is no default, because a name without a registry could be anybody's" $image.repository -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $repository ($image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end }}

{{/* What the Pods of all processes have in common. Takes (dict "root" $ "component" "gate"). */}}
{{- define "sallyport.podSpec" -}}
{{- $values := index .root.Values .component -}}
serviceAccountName: sallyport-{{ .component }}
# Kubernetes would set SALLYPORT_GATE_PORT and such, which look like settings.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector:
  kubernetes.io/os: linux
  {{- with $values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sallyport.selector" $ | nindent 8 }}
  {{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* What their containers have in common. Takes the same. */}}
{{- define "sallyport.container" -}}
name: {{ .component }}
image: {{ include "sallyport.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [{{ .component }}, --config, /etc/sallyport/config/config.yaml]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
# What it compiles and loads at the start takes seconds, on a busy node more.
startupProbe:
  httpGet: {path: /livez, port: status}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: status}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: status}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
resources:
  {{- toYaml (index .root.Values .component).resources | nindent 2 }}
{{- end }}

{{/* The spool's volume: kubelet evicts a Pod that outgrows it, so it is larger than the cap. */}}
{{- define "sallyport.spoolSize" -}}
{{ add (int64 .sizeMib) 64 }}Mi
{{- end }}
