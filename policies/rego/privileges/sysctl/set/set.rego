# METADATA
# scope: package
# title: Kernel parameter
# description: >-
#   A sysctl changes a parameter of the kernel, for some of them beyond the Pod. Pod Security
#   baseline allows those that are known to act within the Pod only; all others are for the
#   administrator.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_sysctls.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 15
#   privileges:
#   - "sysctl/*"
#   message: sets the kernel parameter {value}
#   remedy: >-
#     Remove the entry from spec.securityContext.sysctls; ask the administrator to set it on the
#     nodes if the workload needs it.
package sallyport.privileges.sysctl.set

import data.sallyport.lib

needs contains entry if {
	some index, sysctl in input.securityContext.sysctls
	entry := {
		"privilege": concat("", ["sysctl/", lib.segment(object.get(sysctl, "name", ""))]),
		"path": lib.indexed("spec.securityContext.sysctls", index),
	}
}
