# METADATA
# scope: package
# title: Range of host ports
# description: >-
#   A port that a container opens on its node lies in one of the site's ranges. That a host port may
#   be opened at all is for profiles to say, one by one (the privilege host/port/*,
#   docs/rules/host/port.md); this rule bounds what all of them may. A Pod in the node's network can
#   listen on any port, declared or not: that is the privilege host/network. Init and ephemeral
#   containers count.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/pod-security-policy/host-network-ports
#   description: Gatekeeper's twin, K8sPSPHostNetworkingPorts
# - ref: https://github.com/kyverno/policies/tree/main/pod-security/baseline/disallow-host-ports-range
#   description: Kyverno's twin, disallow-host-ports-range
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: medium
#   message: opens port {value} of its node
#   remedy: Remove hostPort and use a Service, or take a port of your site's ranges.
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
package sallyport.rules.ports.host_range

deny contains entry if {
	some container in input.projection.containers
	some opened in container.hostPorts
	not allowed(opened.port)
	entry := {
		"path": opened.path,
		"value": format_int(opened.port, 10),
		"container": container.name,
	}
}

allowed(port) if {
	some bounds in data.sallyport.parameters.ports.host_range.ranges
	port >= bounds.from
	port <= bounds.to
}
