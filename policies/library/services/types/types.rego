# METADATA
# scope: package
# title: Types of Services
# description: >-
#   Services are of the types that the site allows; ClusterIP is meant where none is named. NodePort
#   and LoadBalancer open what they serve to who reaches the nodes or the internet, ExternalName
#   sends callers to any name of the author's choice.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/block-nodeport-services
#   description: Gatekeeper's twins, K8sBlockNodePort and K8sBlockLoadBalancer
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/restrict-node-port
#   description: Kyverno's twin, restrict-node-port
# - ref: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: is a Service of the type {value}
#   remedy: Use a Service of the type ClusterIP, with an Ingress for what others are to reach.
#   kinds: [Service]
#   fields: [spec.type]
#   parameters:
#     types:
#       description: The types that are allowed.
#       type: array
#       minItems: 1
#       items: {enum: [ClusterIP, NodePort, LoadBalancer, ExternalName]}
#       default: [ClusterIP]
package sallyport.rules.services.types

deny contains {"path": "spec.type", "value": text(type)} if {
	type := object.get(input.fields, ["spec", "type"], "ClusterIP")
	not type in data.sallyport.parameters.services.types.types
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
