# METADATA
# scope: package
# title: Root not ruled out
# description: >-
#   Without runAsNonRoot: true the image decides who the container runs as, and most images run
#   as root. In a user namespace (hostUsers: false) the privilege is the weaker run-as/any-in-
#   user-namespace. Demanded by Pod Security restricted; in a user namespace not since
#   Kubernetes 1.35.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_runAsNonRoot.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 10
#   privileges:
#   - "run-as/any"
#   - "run-as/any-in-user-namespace"
#   message: may run as root, for nothing rules it out
#   remedy: >-
#     Set spec.securityContext.runAsNonRoot: true and remove runAsNonRoot: false from
#     containers; where the image's user is root or a name, also set runAsUser to a number other
#     than 0.
package sallyport.privileges.run_as.unset

needs contains {
	"privilege": privilege,
	"path": "spec.securityContext.runAsNonRoot",
} if {
	input.securityContext.runAsNonRoot != true
}

# A container that says something else than true, whatever the Pod says.
needs contains entry(container) if {
	some container in input.containers
	container.securityContext.runAsNonRoot != true
}

# A container that says nothing, while the Pod does not say true.
needs contains entry(container) if {
	not input.securityContext.runAsNonRoot == true
	some container in input.containers
	not container.securityContext.runAsNonRoot == true
}

entry(container) := {
	"privilege": privilege,
	"path": concat("", [container.path, ".securityContext.runAsNonRoot"]),
	"container": container.name,
}

default privilege := "run-as/any"

privilege := "run-as/any-in-user-namespace" if input.hostUsers == false
