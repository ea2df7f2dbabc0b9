# METADATA
# scope: package
# title: SELinux label
# description: >-
#   On nodes with SELinux the label decides what the container may touch; types such as spc_t
#   are unconfined. Pod Security baseline allows the types container_t, container_init_t,
#   container_kvm_t and container_engine_t, and neither user nor role.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#assign-selinux-labels-to-a-container
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_seLinuxOptions.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 20
#   privileges:
#   - "selinux/type/*"
#   - "selinux/user/*"
#   - "selinux/role/*"
#   message: chooses its own SELinux label ({value})
#   remedy: >-
#     Remove user, role and type from securityContext.seLinuxOptions; the container runtime then
#     chooses a confined label.
package sallyport.privileges.selinux.options

import data.sallyport.lib

needs contains entry if {
	some part, value in input.securityContext.seLinuxOptions
	part in parts
	value != ""
	entry := {
		"privilege": concat("", ["selinux/", part, "/", lib.segment(value)]),
		"path": concat("", ["spec.securityContext.seLinuxOptions.", part]),
	}
}

needs contains entry if {
	some container in input.containers
	some part, value in container.securityContext.seLinuxOptions
	part in parts
	value != ""
	entry := {
		"privilege": concat("", ["selinux/", part, "/", lib.segment(value)]),
		"path": concat("", [container.path, ".securityContext.seLinuxOptions.", part]),
		"container": container.name,
	}
}

# The level has a rule of its own.
parts := {"role", "type", "user"}
