# METADATA
# scope: package
# title: External addresses of Services
# description: >-
#   Whoever may set spec.externalIPs gets what other Pods send to those addresses: traffic to any
#   host can be taken over so. Only addresses of a list are allowed, compared as they are written;
#   with no list, none.
# related_resources:
# - ref: https://github.com/kubernetes/kubernetes/issues/97076
#   description: CVE-2020-8554
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/externalip
#   description: Gatekeeper's twin, K8sExternalIPs
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/restrict-service-external-ips
#   description: Kyverno's twin, restrict-service-external-ips
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: takes what is sent to {value}
#   remedy: Remove spec.externalIPs; use a Service of the type LoadBalancer, or an Ingress.
#   kinds: [Service]
#   fields: [spec.externalIPs]
#   parameters:
#     addresses:
#       description: The addresses that are allowed.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
package sallyport.rules.services.external_ips

import data.sallyport.lib

deny contains {"path": lib.indexed("spec.externalIPs", index), "value": text(address)} if {
	is_array(addresses)
	some index, address in addresses
	not address in data.sallyport.parameters.services.external_ips.addresses
}

deny contains {"path": "spec.externalIPs", "value": text(addresses)} if not is_array(addresses)

addresses := object.get(input.fields, ["spec", "externalIPs"], [])

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
