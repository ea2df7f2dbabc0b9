# METADATA
# scope: package
# title: Claim with admin access
# description: >-
#   adminAccess in a request of a ResourceClaim or ResourceClaimTemplate gives a device to the Pod
#   although others use it, for monitoring: it sees and can disturb their work. Kubernetes allows
#   it only in namespaces labelled resource.kubernetes.io/admin-access: "true", by default since
#   1.34; before 1.33, where the feature was new, no label was asked for.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/types.go
#   description: The field adminAccess
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 2
#   privileges:
#   - "device/admin-access"
#   message: takes devices that others use (adminAccess)
#   remedy: >-
#     Remove adminAccess from the request: a device of its own then serves the workload.
package sallyport.privileges.device.admin_access

needs contains {"privilege": "device/admin-access", "path": request.path} if {
	some request in input.object.requests
	request.adminAccess
}
