# METADATA
# scope: package
# title: Seccomp not set
# description: >-
#   Where neither the container nor its Pod sets a seccomp profile, the kubelet decides, and its
#   default is no filter at all. Demanded by Pod Security restricted, except on Windows.
# related_resources:
# - ref: https://kubernetes.io/docs/tutorials/security/seccomp/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_seccompProfile_restricted.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 10
#   privileges:
#   - "seccomp/unset"
#   message: sets no filter of system calls (seccomp)
#   remedy: >-
#     Set spec.securityContext.seccompProfile.type: RuntimeDefault.
package sallyport.privileges.seccomp.unset

needs contains entry if {
	not input.securityContext.seccompProfile
	not input.os == "windows"
	some container in input.containers
	not container.securityContext.seccompProfile
	entry := {
		"privilege": "seccomp/unset",
		"path": concat("", [container.path, ".securityContext.seccompProfile.type"]),
		"container": container.name,
	}
}
