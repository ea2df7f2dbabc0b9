# METADATA
# scope: package
# title: Default capabilities kept
# description: >-
#   A container that does not drop ALL keeps the container runtime's default capabilities, such
#   as CHOWN, SETUID and NET_RAW, of which training code needs none. Forbidden by Pod Security
#   restricted, except on Windows.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#set-capabilities-for-a-container
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_capabilities_restricted.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: low
#   since: 1
#   risk: 10
#   privileges:
#   - "capabilities/default"
#   message: keeps the default capabilities
#   remedy: >-
#     Set securityContext.capabilities.drop: ["ALL"] on the container.
package sallyport.privileges.capability.defaults

needs contains entry if {
	not input.os == "windows"
	some container in input.containers
	not drops_all(container)
	entry := {
		"privilege": "capabilities/default",
		"path": concat("", [container.path, ".securityContext.capabilities.drop"]),
		"container": container.name,
	}
}

# A function of its own: `not "ALL" in` something undefined would be undefined, not true.
drops_all(container) if "ALL" in container.securityContext.capabilities.drop
