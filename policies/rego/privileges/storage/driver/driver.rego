# METADATA
# scope: package
# title: CSIDriver
# description: >-
#   A CSIDriver object tells the kubelet how to treat the driver of its name: whether Pods may use
#   it inline, whether it changes the owner of files, and for which audiences it gets the tokens
#   of the Pods that mount its volumes (rule token/audience).
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#csi
#   description: Kubernetes documentation
# - ref: https://kubernetes-csi.github.io/docs/csi-driver-object.html
#   description: The CSIDriver object
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "csi-driver/*"
#   message: sets how the kubelet treats the CSI driver {value}
#   remedy: >-
#     Use a claim of a StorageClass; drivers are installed by the administrator.
package sallyport.privileges.storage.driver

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "CSIDriver"
	name := object.get(input.object, "name", "")
	entry := {"privilege": concat("", ["csi-driver/", lib.segment(name)]), "path": "metadata.name"}
}
