# METADATA
# scope: package
# title: Debug container in another container's processes
# description: >-
#   With targetContainerName a debug container joins the processes of a container of the Pod: it
#   sees their environment and files through /proc and can trace or end those of the same user.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/debug/debug-application/debug-running-pod/#ephemeral-container
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: EphemeralContainer
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 3
#   privileges:
#   - "debug/target"
#   message: joins the processes of a container of the Pod
#   remedy: >-
#     Leave out --target, or ask for a profile that covers debug/target.
package sallyport.privileges.debug.target

needs contains entry if {
	some container in input.containers
	container.added
	container.target
	entry := {
		"privilege": "debug/target",
		"path": concat("", [container.path, ".targetContainerName"]),
		"container": container.name,
	}
}
