# METADATA
# scope: package
# title: No seccomp filter
# description: >-
#   A seccomp profile other than RuntimeDefault or Localhost leaves all system calls of the
#   node's kernel open to the container, and kernel bugs with them. Forbidden by Pod Security
#   baseline.
# related_resources:
# - ref: https://kubernetes.io/docs/tutorials/security/seccomp/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_seccompProfile_baseline.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 30
#   privileges:
#   - "seccomp/unconfined"
#   message: turns the filter of system calls (seccomp) off
#   remedy: >-
#     Set securityContext.seccompProfile.type: RuntimeDefault there, or remove the field from a
#     container whose Pod sets RuntimeDefault.
package sallyport.privileges.seccomp.unconfined

needs contains {
	"privilege": "seccomp/unconfined",
	"path": "spec.securityContext.seccompProfile.type",
} if {
	profile := input.securityContext.seccompProfile
	not confined(profile)
}

needs contains entry if {
	some container in input.containers
	profile := container.securityContext.seccompProfile
	not confined(profile)
	entry := {
		"privilege": "seccomp/unconfined",
		"path": concat("", [container.path, ".securityContext.seccompProfile.type"]),
		"container": container.name,
	}
}

confined(profile) if profile.type == "RuntimeDefault"

confined(profile) if profile.type == "Localhost"
