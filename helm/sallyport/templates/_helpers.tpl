{{/*
The recommended labels, and those of every object. Takes (dict "root" $ "component" "gate"), and "more",
an object's own labels, which win over those of every object.
*/}}
{{- define "sallyport.labels" -}}
{{ include "sallyport.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: sallyport
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with mergeOverwrite (deepCopy .root.Values.commonLabels) (.more | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The annotations of an object, on lines of their own below its metadata; nothing where there are none.
Takes (dict "root" $), "given", the object's own values, and "own", what the chart writes: it wins.
*/}}
{{- define "sallyport.annotations" -}}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.given | default dict) (.own | default dict) }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* Labels of nodes that can run the image. */}}
{{- define "sallyport.imageNodes" -}}
kubernetes.io/os: linux
{{- with .Values.image.architecture }}
kubernetes.io/arch: {{ . }}
{{- end }}
{{- end }}

{{/* Secrets with which nodes pull the image: by name, or as Kubernetes has them. */}}
{{- define "sallyport.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ if kindIs "string" . }}{{ . }}{{ else }}{{ .name }}{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The labels that never change: selectors, and what Kubernetes lets nobody change. */}}
{{- define "sallyport.selector" -}}
app.kubernetes.io/name: sallyport
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The mode of namespaces that say none. It has no default: a cluster in use and a new one want different ones. */}}
{{- define "sallyport.defaultMode" -}}
{{- required "defaultMode: missing; what becomes of Pods and other objects that break a rule, in namespaces without the label sallyport.dev/mode? Set defaultMode=audit: they are created, and recorded as findings; begin so on a cluster that is in use. Or defaultMode=warn: they are created, and kubectl shows a warning. Or defaultMode=enforce: they are refused; an installation that never set it has had enforce" .Values.defaultMode }}
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
{{- with include "sallyport.imagePullSecrets" .root | trim }}
{{ . }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector:
  {{- include "sallyport.imageNodes" .root | nindent 2 }}
  {{- with $values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if $values.topologySpreadConstraints }}
  {{- $own := dict "matchLabels" (include "sallyport.selector" . | fromYaml) }}
  {{- range $values.topologySpreadConstraints }}
  - {{ hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $own) | toYaml | indent 4 | trim }}
  {{- end }}
  {{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sallyport.selector" $ | nindent 8 }}
  {{- end }}
  {{- end }}
{{- with $values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
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
args:
  - {{ .component }}
  - --config
  - /etc/sallyport/config/config.yaml
  {{- with (index .root.Values .component).extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
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
