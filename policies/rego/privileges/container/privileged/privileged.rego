# METADATA
# scope: package
# title: Privileged container
# description: >-
#   A privileged container has every capability, all devices of the node and no seccomp,
#   AppArmor or SELinux confinement: it is root on the node. Forbidden by Pod Security baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_privileged.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 1
#   risk: 60
#   privileges:
#   - "container/privileged"
#   message: is privileged, that is, root on the node
#   remedy: >-
#     Remove securityContext.privileged from the container or set it to false. GPUs and
#     InfiniBand devices come from device plugins or resource claims and do not need it.
package sallyport.privileges.container.privileged

needs contains entry if {
	some container in input.containers
	container.securityContext.privileged
	entry := {
		"privilege": "container/privileged",
		"path": concat("", [container.path, ".securityContext.privileged"]),
		"container": container.name,
	}
}
