# METADATA
# scope: package
# title: No limit of CPU or memory
# description: >-
#   A container without a limit can take all of the node's CPU or memory from its neighbours;
#   without one of memory the kernel chooses what dies. Neither the container nor the Pod
#   (spec.resources, by default since Kubernetes 1.34) sets it; a limit of 0 is none. Ephemeral
#   containers cannot have limits and are left out.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/2837-pod-level-resource-spec
#   description: Limits of a Pod, KEP-2837
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "limits/unset/cpu"
#   - "limits/unset/memory"
#   message: has no limit of {rest}
#   remedy: >-
#     Set this limit under resources.limits of the container, or of the whole Pod under
#     spec.resources.limits.
package sallyport.privileges.limits.unset

needs contains entry if {
	some container in input.containers
	some resource in container.unlimited
	entry := {
		"privilege": concat("", ["limits/unset/", resource]),
		"path": concat("", [container.path, ".resources.limits.", resource]),
		"container": container.name,
	}
}
