# METADATA
# scope: package
# title: Settings for a device's driver
# description: >-
#   The opaque configuration of a ResourceClaim, ResourceClaimTemplate or DeviceClass goes unread
#   to the device's driver, which runs as root on the node: time slicing, a partition, a kernel
#   driver to bind. What it may say is known to the driver alone.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/types.go
#   description: The field opaque
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "device/config/*"
#   message: hands settings to the device driver {rest}
#   remedy: >-
#     Remove the opaque settings from the claim or template, and name a DeviceClass for which the
#     administrator has written them. DeviceClass objects are made by the administrator.
package sallyport.privileges.device.config

import data.sallyport.lib

needs contains entry if {
	some config in input.object.configs
	driver := object.get(config, "driver", "")
	entry := {
		"privilege": concat("", ["device/config/", lib.segment(driver)]),
		"path": config.path,
	}
}
