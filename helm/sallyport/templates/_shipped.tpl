{{/*
An object of a file below files/, with the labels. files/ holds copies, made by docs/generate/chart.py,
of what is also shipped without the chart.
Takes (dict "root" $ "component" "profiles" "file" "files/…" "kind" "ClusterRole"), and for profiles
"catalogue", the newest that they may be of.
*/}}
{{- define "sallyport.shipped" -}}
{{- $wanted := . -}}
{{- $found := "" -}}
{{- range splitList "\n---\n" (.root.Files.Get .file) -}}
{{- $object := fromYaml . -}}
{{- if eq (get $object "kind") $wanted.kind -}}
{{- with $wanted.catalogue -}}
{{- if lt (int .) (int $object.spec.catalogue) -}}
{{- $_ := set $object.spec "catalogue" . -}}
{{- /* Of catalogue 4: the release before refuses a profile with a field that it does not know. */ -}}
{{- if hasKey $object.spec "defaults" -}}
{{- $_ := unset $object.spec.defaults "namespaceIds" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $object.metadata "labels" (include "sallyport.labels" $wanted | fromYaml) -}}
{{- with mergeOverwrite (deepCopy $wanted.root.Values.commonAnnotations) (get $object.metadata "annotations" | default dict) -}}
{{- $_ := set $object.metadata "annotations" . -}}
{{- end -}}
{{- $found = toYaml $object -}}
{{- end -}}
{{- end -}}
{{- $found | required (printf "%s of the chart holds no %s; get the chart whole" .file .kind) -}}
{{- end }}
