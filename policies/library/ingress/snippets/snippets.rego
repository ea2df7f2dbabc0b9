# METADATA
# scope: package
# title: Snippets of configuration in an Ingress
# description: >-
#   Annotations of NGINX's controllers that put text into its configuration let whoever may write an
#   Ingress read the controller's Secrets, which are those of all namespaces. Annotations whose name
#   ends in -snippet or -snippets are denied, and those that parameters name.
# related_resources:
# - ref: https://github.com/kubernetes/kubernetes/issues/126811
#   description: CVE-2024-7646, and CVE-2021-25742 before it
# - ref: https://github.com/kyverno/policies/tree/main/nginx-ingress/restrict-annotations
#   description: Kyverno's twin, restrict-annotations
# - ref: https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations-risk/
#   description: What each annotation of ingress-nginx risks
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: critical
#   message: puts text into the configuration of the Ingress controller by {value}
#   remedy: Remove the annotation; ask the administrator to set what you need for the controller.
#   kinds: [networking.k8s.io/Ingress]
#   fields: [metadata.annotations]
#   parameters:
#     annotations:
#       description: Other annotations that are denied.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
package sallyport.rules.ingress.snippets

deny contains {"path": concat("", ["metadata.annotations['", name, "']"]), "value": name} if {
	some name, _ in input.fields.metadata.annotations
	is_string(name)
	denied(name)
}

deny contains {"path": "metadata.annotations", "value": "what is no annotation"} if {
	not is_object(object.get(input.fields, ["metadata", "annotations"], {}))
}

denied(name) if endswith(name, "-snippet")

denied(name) if endswith(name, "-snippets")

denied(name) if name in data.sallyport.parameters.ingress.snippets.annotations
