# METADATA
# scope: package
# title: Defining the API
# description: >-
#   Whoever writes APIServices can send requests for an API group, with their callers' names,
#   to a server of their own. Whoever writes CustomResourceDefinitions can take away the checks
#   of a kind, Sallyport's included, or have every object of it pass through a conversion
#   webhook.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
#   description: Conversion webhooks
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "rights/apis/*/*"
#   message: lets its holders change the API itself ({rest})
#   remedy: >-
#     Have the platform team install definitions; name in resourceNames the one that an
#     operator keeps.
package sallyport.privileges.rights.apis

import data.sallyport.lib.rights

guarded := {
	"apiservices": "apiregistration.k8s.io",
	"customresourcedefinitions": "apiextensions.k8s.io",
}

needs contains entry if {
	rights.everywhere
	some resource, group in guarded
	some rule in rights.giving(rights.writing, group, resource)
	some name in rights.names(rule)
	segments := ["rights/apis", rights.resource(rule, resource), name]
	entry := {"privilege": concat("/", segments), "path": rule.path}
}
