# METADATA
# scope: package
# title: Privilege escalation
# description: >-
#   Unless allowPrivilegeEscalation is false, a process can gain more rights than its parent,
#   for example through a set-user-ID program such as sudo. The default is true. Forbidden by
#   Pod Security restricted, except on Windows.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_allowPrivilegeEscalation.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 15
#   privileges:
#   - "container/privilege-escalation"
#   message: may gain more rights than it starts with
#   remedy: >-
#     Set securityContext.allowPrivilegeEscalation: false on the container.
package sallyport.privileges.container.privilege_escalation

needs contains entry if {
	not input.os == "windows"
	some container in input.containers
	not container.securityContext.allowPrivilegeEscalation == false
	entry := {
		"privilege": "container/privilege-escalation",
		"path": concat("", [container.path, ".securityContext.allowPrivilegeEscalation"]),
		"container": container.name,
	}
}
