# METADATA
# scope: package
# title: Device class for an extended resource
# description: >-
#   A DeviceClass with spec.extendedResourceName serves every Pod that asks for that resource in its
#   limits (nvidia.com/gpu) where no device plugin offers it on the node; of several such classes the
#   one created last is taken. Whoever makes one decides which devices the Pods of all namespaces get
#   and with which settings, without a word in them.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/types.go
#   description: The field extendedResourceName
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "device/extended-resource/*"
#   message: serves every request for the extended resource {rest}
#   remedy: >-
#     Remove spec.extendedResourceName and name the class in the deviceClassName of claims, or have
#     the administrator make the class.
package sallyport.privileges.device.extended_resource

import data.sallyport.lib

needs contains entry if {
	name := input.object.extendedResource
	entry := {
		"privilege": concat("", ["device/extended-resource/", lib.segment(name)]),
		"path": "spec.extendedResourceName",
	}
}
