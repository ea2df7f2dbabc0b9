{{/* The OPA server of a Pod, where one evaluates the policies (docs/policies/engines.md). */}}

{{/*
A native sidecar: it is there before the first review, and until the last is answered. It listens on
a socket that only this Pod has, and the policies are put there by the process beside it.
*/}}
{{- define "sallyport.opa.container" -}}
{{- if eq .Values.evaluation.engine "opa" }}
initContainers:
  - name: opa
    image: {{ .Values.evaluation.opa.image }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    restartPolicy: Always
    args:
      - run
      - --server
      - --addr=unix:///run/opa/opa.sock
      - --log-level=error
      - --skip-version-check
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    resources:
      {{- toYaml .Values.evaluation.opa.resources | nindent 6 }}
    volumeMounts:
      - {name: opa, mountPath: /run/opa}
{{- end }}
{{- end }}

{{- define "sallyport.opa.mount" -}}
{{- if eq .Values.evaluation.engine "opa" }}
- {name: opa, mountPath: /run/opa}
{{- end }}
{{- end }}

{{- define "sallyport.opa.volume" -}}
{{- if eq .Values.evaluation.engine "opa" }}
- name: opa
  emptyDir:
    sizeLimit: 1Mi
{{- end }}
{{- end }}

{{- define "sallyport.opa.settings" -}}
{{- if eq .Values.evaluation.engine "opa" }}
opa:
  url: unix:///run/opa/opa.sock
{{- end }}
{{- end }}
