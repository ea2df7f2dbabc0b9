{{/* Policy bundles that come while the processes run: kube/bundles/watch.py. */}}

{{/* The ConfigMaps that hold the parts of published bundles (core/policy_bundles.py: SLOTS, MOST_PARTS). */}}
{{- define "sallyport.bundleParts" -}}
{{- range $slot := until 4 }}
{{- range $part := until 8 }}
- sallyport-bundle-{{ $slot }}-{{ $part }}
{{- end }}
{{- end }}
{{- end }}

{{/* Files of the public keys, beside the settings. Takes the values of bundle. */}}
{{- define "sallyport.bundleKeys" -}}
{{- range $id, $pem := .keys }}
bundle-key-{{ $id }}.pem: {{ $pem | quote }}
{{- end }}
{{- end }}

{{/* Secret with the password for the registry of bundles; empty where none is asked. */}}
{{- define "sallyport.registrySecret" -}}
{{- with .Values.bundle.source }}
{{- if .oci }}{{ .passwordSecret }}{{ end }}
{{- end }}
{{- end }}
