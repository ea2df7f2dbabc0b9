# METADATA
# scope: package
# title: Root user
# description: >-
#   runAsUser: 0 runs the container as root. Whoever breaks out of it is root on the node,
#   unless the Pod has a user namespace (hostUsers: false), where root is an ordinary user of
#   the node and the privilege is the weaker run-as/root-in-user-namespace. Forbidden by Pod
#   Security restricted; in a user namespace allowed since Kubernetes 1.35.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_runAsUser.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 20
#   privileges:
#   - "run-as/root"
#   - "run-as/root-in-user-namespace"
#   message: runs as root
#   remedy: >-
#     Set securityContext.runAsUser to the image's own user, for example 1000, or remove it
#     where the image names a user other than root. Files that the user must write belong on a
#     volume of the Pod's own, with spec.securityContext.fsGroup; on a shared file system give them
#     to the user there, since fsGroup can change the group of all its files.
package sallyport.privileges.run_as.root

needs contains {
	"privilege": privilege,
	"path": "spec.securityContext.runAsUser",
} if {
	input.securityContext.runAsUser == 0
}

needs contains entry if {
	some container in input.containers
	container.securityContext.runAsUser == 0
	entry := {
		"privilege": privilege,
		"path": concat("", [container.path, ".securityContext.runAsUser"]),
		"container": container.name,
	}
}

default privilege := "run-as/root"

privilege := "run-as/root-in-user-namespace" if input.hostUsers == false
