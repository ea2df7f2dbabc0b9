{{/*
A webhook configuration. With webhooks.whenReady it has no webhooks: control puts them there once
kube-apiserver reaches a gate, and an upgrade, which does not know the field, leaves them. So an
installation that fails keeps nobody's Pods from starting.
Takes (dict "root" $ "kind" "validating").
*/}}
{{- define "sallyport.registered" -}}
{{- if .root.Values.webhooks.enabled -}}
{{- $whole := include (printf "sallyport.registration.%s" .kind) .root -}}
{{- if .root.Values.webhooks.whenReady -}}
{{- omit (fromYaml $whole) "webhooks" | toYaml -}}
{{- else -}}
{{- $whole -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* All that is registered with kube-apiserver, as it should be: a JSON list. */}}
{{- define "sallyport.registrations" -}}
{{- $found := list -}}
{{- if .Values.webhooks.enabled -}}
{{- range list "validating" "mutating" -}}
{{- $found = append $found (include (printf "sallyport.registration.%s" .) $ | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- $files := list "webhooks-probe" "webhooks-discovered-validating" "webhooks-discovered-mutating" -}}
{{- range list "backstop" "endpointslice-guard" "kinds-guard" "namespace-guard" "own-namespace-guard" "pod-address-guard" "pod-annotation-guard" "revision-guard" "revision-owner-guard" "status-guard" -}}
{{- $files = concat $files (list (printf "%s-policy" .) (printf "%s-binding" .)) -}}
{{- end -}}
{{- range $files -}}
{{- with include (printf "%s/%s.yaml" $.Template.BasePath .) $ | fromYaml -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- range $found -}}
{{- /* By these Helm takes for its own what control creates again. */ -}}
{{- $helms := dict "meta.helm.sh/release-name" $.Release.Name "meta.helm.sh/release-namespace" $.Release.Namespace -}}
{{- $_ := set .metadata "annotations" (merge $helms (.metadata.annotations | default dict)) -}}
{{- end -}}
{{- $found | toJson -}}
{{- end }}

{{/*
The annotations of a webhook configuration. The first one is for AKS, whose admissions enforcer would
rewrite the selectors, again and again.
*/}}
{{- define "sallyport.registrationAnnotations" -}}
{{- $own := merge (dict "admissions.enforcer/disabled" "true") (include "sallyport.injectCa" . | fromYaml) -}}
{{- include "sallyport.annotations" (dict "root" . "own" $own) -}}
{{- end }}
