# METADATA
# scope: package
# title: Class of an Ingress
# description: >-
#   An Ingress is served by a controller that the site allows, so that nothing inside is published by
#   the one that faces the internet. The old annotation kubernetes.io/ingress.class, which controllers
#   still obey, counts; where both are set, both must be allowed.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/restrict-ingress-classes
#   description: Kyverno's twin, restrict-ingress-classes
# - ref: https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: is served by the class {value}
#   remedy: Name one of your site's classes in spec.ingressClassName.
#   kinds: [networking.k8s.io/Ingress]
#   fields:
#   - metadata.annotations['kubernetes.io/ingress.class']
#   - spec.ingressClassName
#   parameters:
#     classes:
#       description: The classes that are allowed.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#     default:
#       description: Whether an Ingress may name none, and get the cluster's default.
#       type: boolean
#       default: false
package sallyport.rules.ingress.class

import data.sallyport.parameters.ingress.class as parameters

deny contains {"path": field.path, "value": text(class)} if {
	some field in fields
	class := object.get(input.fields, field.steps, null)
	class != null
	not class in parameters.classes
}

deny contains {"path": "spec.ingressClassName", "value": "that is the cluster's default"} if {
	not parameters["default"]
	every field in fields {
		object.get(input.fields, field.steps, null) == null
	}
}

fields := [
	{"path": "spec.ingressClassName", "steps": ["spec", "ingressClassName"]},
	{
		"path": "metadata.annotations['kubernetes.io/ingress.class']",
		"steps": ["metadata", "annotations", "kubernetes.io/ingress.class"],
	},
]

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
