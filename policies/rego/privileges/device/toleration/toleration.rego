# METADATA
# scope: package
# title: Claim that tolerates taints of devices
# description: >-
#   Administrators and drivers taint devices that are reserved, being drained or ill (DeviceTaintRule,
#   Kubernetes 1.33 and later). A request of a ResourceClaim or ResourceClaimTemplate that tolerates
#   a taint gets such devices; one with the operator Exists and no key gets all of them. Unlike those
#   of node pools no such taint invites workloads, so every key counts.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/types.go
#   description: DeviceToleration
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 4
#   privileges:
#   - "device/tolerate/*"
#   message: takes devices that are reserved or drained ({rest})
#   remedy: >-
#     Remove the toleration from the request for devices.
package sallyport.privileges.device.toleration

import data.sallyport.lib

needs contains entry if {
	some each in input.object.tolerations
	key := object.get(each, "key", "")
	key != ""
	entry := {
		"privilege": concat("", ["device/tolerate/", lib.segment(key)]),
		"path": each.path,
	}
}

# The API accepts no key with no operator but Exists.
needs contains {"privilege": "device/tolerate/everything", "path": each.path} if {
	some each in input.object.tolerations
	object.get(each, "key", "") == ""
}
