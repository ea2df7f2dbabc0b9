# METADATA
# scope: package
# title: Unmasked /proc
# description: >-
#   The container runtime hides parts of /proc that show or change the node's kernel. procMount:
#   Unmasked shows them. In a user namespace (hostUsers: false) the privilege is the weaker
#   proc-mount-in-user-namespace. Forbidden by Pod Security restricted and baseline; by baseline
#   not in a user namespace since Kubernetes 1.35.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_procMount_baseline.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 30
#   privileges:
#   - "proc-mount/*"
#   - "proc-mount-in-user-namespace/*"
#   message: shows all of /proc (procMount {value})
#   remedy: >-
#     Remove securityContext.procMount from the container or set it to Default.
package sallyport.privileges.proc_mount.unmasked

import data.sallyport.lib

needs contains entry if {
	some container in input.containers
	type := container.securityContext.procMount
	type != "Default"
	entry := {
		"privilege": concat("", [family, lib.segment(type)]),
		"path": concat("", [container.path, ".securityContext.procMount"]),
		"container": container.name,
	}
}

default family := "proc-mount/"

family := "proc-mount-in-user-namespace/" if input.hostUsers == false
