{{/* The gate's Pod template: of the Deployment, or of the StatefulSet that keeps the spool. */}}
{{- define "sallyport.gate.podTemplate" -}}
{{- $gate := dict "root" . "component" "gate" -}}
metadata:
  labels:
    {{- include "sallyport.labels" (merge (dict "more" .Values.gate.podLabels) $gate) | nindent 4 }}
  annotations:
    checksum/config: {{ include "sallyport.settings.gate" . | sha256sum }}
    {{- with .Values.gate.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- if .Values.gate.hostNetwork.enabled }}
  hostNetwork: true
  {{- if not .Values.gate.dnsPolicy }}
  # What ClusterFirst means to other Pods; on the node's network that would ask the node's name servers.
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- end }}
  {{- include "sallyport.podSpec" $gate | nindent 2 }}
  automountServiceAccountToken: true
  # The drain, 20 s for reviews in flight, 1 s for probes, 5 s for one last delivery to the auditor,
  # 5 s to close the spool, 4 s to spare.
  terminationGracePeriodSeconds: {{ add (int64 .Values.gate.drainSeconds) 35 }}
  {{- include "sallyport.opa.container" . | nindent 2 }}
  containers:
    - {{ include "sallyport.container" $gate | indent 6 | trim }}
      {{- if or .Values.auditor.enabled .Values.gate.extraEnv }}
      env:
        {{- if .Values.auditor.enabled }}
        # Which gate its decisions are of.
        - name: SALLYPORT_INSTANCE
          valueFrom:
            fieldRef: {fieldPath: metadata.name}
        {{- end }}
        {{- with .Values.gate.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      ports:
        - {name: https, containerPort: {{ include "sallyport.gate.port" . }}, protocol: TCP}
        - {name: status, containerPort: {{ include "sallyport.gate.statusPort" . }}, protocol: TCP}
      volumeMounts:
        - {name: config, mountPath: /etc/sallyport/config, readOnly: true}
        - {name: tls, mountPath: /etc/sallyport/tls, readOnly: true}
        {{- if .Values.bundle.configMap }}
        - {name: bundle, mountPath: /etc/sallyport/bundle, readOnly: true}
        {{- end }}
        {{- if .Values.shadow.configMap }}
        - {name: shadow, mountPath: /etc/sallyport/shadow, readOnly: true}
        {{- end }}
        {{- include "sallyport.opa.mount" . | nindent 8 }}
        {{- if .Values.egress.tags.claim }}
        - {name: tags, mountPath: /etc/sallyport/tags, readOnly: true}
        {{- end }}
        {{- if .Values.gate.clientCaConfigMap }}
        - {name: client-ca, mountPath: /etc/sallyport/client-ca, readOnly: true}
        {{- end }}
        {{- if .Values.auditor.enabled }}
        - {name: shipping, mountPath: /etc/sallyport/shipping, readOnly: true}
        - {name: spool, mountPath: /var/lib/sallyport/spool}
        {{- if ne .Values.auditor.gateInstances "off" }}
        - {name: instance, mountPath: /etc/sallyport/instance, readOnly: true}
        {{- end }}
        {{- end }}
        {{- with .Values.gate.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: sallyport-gate
    {{- with .Values.bundle.configMap }}
    - name: bundle
      configMap:
        name: {{ . }}
    {{- end }}
    {{- with .Values.shadow.configMap }}
    - name: shadow
      configMap:
        name: {{ . }}
    {{- end }}
    {{- include "sallyport.opa.volume" . | nindent 4 }}
    {{- with .Values.egress.tags.claim }}
    - name: tags
      persistentVolumeClaim:
        claimName: {{ . }}
        readOnly: true
    {{- end }}
    # Made by control; until then the Pod waits for it in ContainerCreating.
    - name: tls
      secret:
        secretName: sallyport-gate-tls
        defaultMode: 0440
    {{- with .Values.gate.clientCaConfigMap }}
    - name: client-ca
      configMap:
        name: {{ . }}
    {{- end }}
    {{- if .Values.auditor.enabled }}
    # Optional: reviews must not wait for what only shipping needs.
    - name: shipping
      secret:
        secretName: sallyport-shipping-gate
        defaultMode: 0440
        optional: true
    {{- if ne .Values.auditor.gateInstances "off" }}
    # Proves to the auditor, and to nobody else, which Pod this is.
    - name: instance
      projected:
        defaultMode: 0440
        sources:
          - serviceAccountToken: {path: token, audience: sallyport-auditor, expirationSeconds: 3600}
    {{- end }}
    {{- if not .Values.gate.spool.persistence.enabled }}
    - name: spool
      emptyDir:
        sizeLimit: {{ include "sallyport.spoolSize" .Values.gate.spool }}
    {{- end }}
    {{- end }}
    {{- with .Values.gate.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* The ports on which the gate answers: on the node's network they are the node's. */}}
{{- define "sallyport.gate.port" -}}
{{- with .Values.gate.hostNetwork }}{{ .enabled | ternary (int .port) 9443 }}{{ end }}
{{- end }}

{{- define "sallyport.gate.statusPort" -}}
{{- with .Values.gate.hostNetwork }}{{ .enabled | ternary (int .statusPort) 9080 }}{{ end }}
{{- end }}

{{/* Deployment, or StatefulSet where each replica keeps its spool. */}}
{{- define "sallyport.gate.kind" -}}
{{ ternary "StatefulSet" "Deployment" .Values.gate.spool.persistence.enabled }}
{{- end }}

{{/*
How many gates: where a HorizontalPodAutoscaler decides, as many as there are now. Left out, the field
would fall to its default, one, with the first upgrade that leaves it out.
*/}}
{{- define "sallyport.gate.replicas" -}}
{{- $replicas := int .Values.gate.replicas -}}
{{- with .Values.gate.autoscaling -}}
{{- if .enabled -}}
{{- $now := dig "spec" "replicas" 0 (lookup "apps/v1" (include "sallyport.gate.kind" $) $.Release.Namespace "sallyport-gate") | int -}}
{{- $replicas = min (max $replicas $now) (int .maxReplicas) -}}
{{- end -}}
{{- end -}}
{{ $replicas }}
{{- end }}
