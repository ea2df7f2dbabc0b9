# METADATA
# scope: package
# title: Range of node ports
# description: >-
#   A port that a Service opens on every node lies in one of the site's ranges, which firewalls know.
#   A port that the author leaves to Kubernetes is not there yet when webhooks are asked, and comes
#   from the cluster's own range. To deny node ports altogether take services/types.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/enforce-nodeport-range
#   description: Gatekeeper's twin
# - ref: https://kubernetes.io/docs/concepts/services-networking/service/#type-nodeport
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: opens port {value} of every node
#   remedy: Take a port of your site's ranges, or leave nodePort out.
#   kinds: [Service]
#   fields:
#   - spec.ports[].nodePort
#   - spec.healthCheckNodePort
#   parameters:
#     ranges:
#       description: The ports that may be opened, both ends included.
#       type: array
#       items:
#         type: object
#         properties:
#           from: {type: integer, minimum: 1, maximum: 65535}
#           to: {type: integer, minimum: 1, maximum: 65535}
#         required: [from, to]
#         additionalProperties: false
package sallyport.rules.services.node_ports

import data.sallyport.lib

deny contains {"path": path, "value": json.marshal(port)} if {
	some index, entry in input.fields.spec.ports
	port := object.get(entry, "nodePort", 0)
	not allowed(port)
	path := concat("", [lib.indexed("spec.ports", index), ".nodePort"])
}

deny contains {"path": "spec.healthCheckNodePort", "value": json.marshal(port)} if {
	port := object.get(input.fields, ["spec", "healthCheckNodePort"], 0)
	not allowed(port)
}

# One that Kubernetes chooses.
allowed(0)

allowed(port) if {
	is_number(port)
	some bounds in data.sallyport.parameters.services.node_ports.ranges
	port >= bounds.from
	port <= bounds.to
}
