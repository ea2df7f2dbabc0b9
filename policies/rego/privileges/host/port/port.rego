# METADATA
# scope: package
# title: Port of the node
# description: >-
#   A hostPort listens on an address of the node itself. It is reachable from wherever the node
#   is, bypasses Services, and may take a port that the node's own software needs. Forbidden by
#   Pod Security baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostPorts.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 10
#   privileges:
#   - "host/port/*"
#   message: opens port {rest} of the node
#   remedy: >-
#     Remove hostPort from the container's ports; reach the Pod through a Service or by its own
#     address.
package sallyport.privileges.host.port

needs contains entry if {
	some container in input.containers
	some opened in container.hostPorts
	opened.port != 0
	entry := {
		# Not format_int, which WebAssembly refuses for what does not fit 64 bits.
		"privilege": concat("", ["host/port/", json.marshal(opened.port)]),
		"path": opened.path,
		"container": container.name,
	}
}
