# METADATA
# scope: package
# title: Volume of a CSI driver, without a class
# description: >-
#   An inline CSI volume, or a PersistentVolume that names a driver, hands the author's own
#   attributes to a driver that runs as root on the node: which share, which server, which secret.
#   Drivers that were written for administrators (a path of the node, a server's address) then
#   serve everyone. Pod Security allows inline CSI volumes at every level and leaves them to
#   others. Pods use claims on CSI volumes freely: such a volume is judged for its author, and
#   for whoever names it in a claim that it was not kept for.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#csi-driver-restrictions
#   description: Kubernetes documentation
# - ref: https://kubernetes-csi.github.io/docs/ephemeral-local-volumes.html
#   description: Inline volumes of CSI drivers
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   risk: 10
#   privileges:
#   - "volume/csi/*"
#   message: mounts a volume of the CSI driver {rest}
#   remedy: >-
#     Use a persistentVolumeClaim of a StorageClass, and let the administrator say what the driver
#     is asked for.
package sallyport.privileges.volume.csi

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	"csi" in volume.types
	driver := object.get(volume, ["csi", "driver"], "")
	entry := {
		"privilege": concat("", ["volume/csi/", lib.segment(driver)]),
		"path": lib.source(volume, "csi"),
	}
}
