# METADATA
# scope: package
# title: LoadBalancers inside
# description: >-
#   A Service of the type LoadBalancer gets an address of the private network, which the cloud is
#   told by an annotation, and, where parameters ask for it, says whom it lets in
#   (spec.loadBalancerSourceRanges without a range of all addresses). To deny the type altogether
#   take services/types.
# related_resources:
# - ref: https://learn.microsoft.com/azure/aks/internal-lb
#   description: AKS, internal load balancers
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/block-loadbalancer-services
#   description: Gatekeeper's nearest, K8sBlockLoadBalancer
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: faces the internet (annotation {value} is not set so that it does not)
#   remedy: >-
#     Set the annotation that makes the load balancer internal, and spec.loadBalancerSourceRanges to
#     the networks that are to reach it.
#   kinds: [Service]
#   fields:
#   - metadata.annotations
#   - spec.type
#   - spec.loadBalancerSourceRanges
#   parameters:
#     annotations:
#       description: The annotations that make it internal, with their values, of which all must be set.
#       type: object
#       additionalProperties: {type: string}
#       default:
#         service.beta.kubernetes.io/azure-load-balancer-internal: "true"
#     ranges:
#       description: Whether it must say whom it lets in.
#       type: boolean
#       default: false
package sallyport.rules.services.load_balancer

import data.sallyport.parameters.services.load_balancer as parameters

deny contains {"path": "metadata.annotations", "value": name} if {
	balanced
	some name, value in parameters.annotations
	object.get(input.fields, ["metadata", "annotations", name], null) != value
}

deny contains {"path": "spec.loadBalancerSourceRanges", "value": "", "message": message} if {
	parameters.ranges
	balanced
	not bounded
	message := "lets in whoever reaches it"
}

# What is no type of Service that is known to be something else.
balanced if {
	not object.get(input.fields, ["spec", "type"], "ClusterIP") in others
}

others := {"ClusterIP", "NodePort", "ExternalName"}

bounded if {
	ranges := input.fields.spec.loadBalancerSourceRanges
	is_array(ranges)
	count(ranges) > 0
	every range in ranges {
		is_string(range)
		not endswith(trim_space(range), "/0")
	}
}
