# METADATA
# scope: package
# title: Added capability
# description: >-
#   Each Linux capability is a part of root's power. SYS_ADMIN, NET_ADMIN or SYS_PTRACE among
#   others lead out of the container. Pod Security restricted allows only NET_BIND_SERVICE to be
#   added, baseline those of the container runtime's default set.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#set-capabilities-for-a-container
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_capabilities_baseline.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 30
#   risks:
#     "capability/ALL": 60
#     "capability/SYS_ADMIN": 60
#     "capability/SYS_MODULE": 60
#     "capability/SYS_RAWIO": 60
#     "capability/DAC_READ_SEARCH": 60
#     "capability/SYS_PTRACE": 40
#     "capability/BPF": 40
#     "capability/NET_BIND_SERVICE": 0
#   privileges:
#   - "capability/*"
#   message: adds the capability {value}
#   remedy: >-
#     Remove the capability from securityContext.capabilities.add of the container.
package sallyport.privileges.capability.add

import data.sallyport.lib

needs contains entry if {
	some container in input.containers
	some index, capability in container.securityContext.capabilities.add
	entry := {
		"privilege": concat("", ["capability/", lib.segment(capability)]),
		"path": lib.indexed(concat("", [container.path, ".securityContext.capabilities.add"]), index),
		"container": container.name,
	}
}
