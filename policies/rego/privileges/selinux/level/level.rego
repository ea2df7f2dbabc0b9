# METADATA
# scope: package
# title: SELinux level
# description: >-
#   On nodes with SELinux the runtime gives each Pod a level with two categories of its own: within
#   the type container_t they alone part the files and processes of one Pod from those of another. A
#   Pod that names the level of another, or one of all categories (s0-s0:c0.c1023), may use what that
#   Pod's files and volumes hold, and has volumes relabelled to it. Pod Security does not look at the
#   level. Clusters that give each namespace a level of its own (OpenShift fills it into every Pod,
#   and refuses others) cover selinux/level/*.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#assign-selinux-labels-to-a-container
#   description: Kubernetes documentation
# - ref: https://docs.okd.io/latest/authentication/managing-security-context-constraints.html
#   description: Levels of a namespace in OpenShift's security context constraints
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   risk: 20
#   privileges:
#   - "selinux/level/*"
#   message: chooses its own SELinux level ({rest})
#   remedy: >-
#     Remove securityContext.seLinuxOptions.level; the container runtime then chooses categories that
#     no other Pod of the node has.
package sallyport.privileges.selinux.level

import data.sallyport.lib

needs contains entry if {
	value := input.securityContext.seLinuxOptions.level
	value != ""
	entry := {
		"privilege": concat("", ["selinux/level/", lib.segment(value)]),
		"path": "spec.securityContext.seLinuxOptions.level",
	}
}

needs contains entry if {
	some container in input.containers
	value := container.securityContext.seLinuxOptions.level
	value != ""
	entry := {
		"privilege": concat("", ["selinux/level/", lib.segment(value)]),
		"path": concat("", [container.path, ".securityContext.seLinuxOptions.level"]),
		"container": container.name,
	}
}
