# METADATA
# scope: package
# title: Debug container
# description: >-
#   kubectl debug adds a container to a Pod that runs: code of its own choice beside the Pod's, in
#   its network and with its volumes. The privilege names the image that is added; that the image
#   may be run at all is asked as well, as of any container (image/from).
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/debug/debug-application/debug-running-pod/#ephemeral-container
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/api/blob/v0.36.3/core/v1/types.go
#   description: EphemeralContainer
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 3
#   privileges:
#   - "debug/**"
#   message: adds a debug container to the Pod, of the image {value}
#   remedy: >-
#     Use a debug image that your profile lists, or ask for a profile that covers debug for this
#     one.
package sallyport.privileges.debug.image

needs contains entry if {
	some container in input.containers
	container.added
	entry := {
		"privilege": concat("", ["debug/", object.get(container, "imageFrom", "%00")]),
		"path": concat("", [container.path, ".image"]),
		"container": container.name,
	}
}
