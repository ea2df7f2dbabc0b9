# METADATA
# scope: package
# title: StorageClass
# description: >-
#   A StorageClass names the provisioner that makes volumes for whoever claims them, and hands it
#   parameters: which server, which account, which mount options. kubernetes.io/no-provisioner is
#   for volumes made by hand.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/storage-classes/#provisioner
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/storage/types.go
#   description: StorageClass
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "storage-class/*"
#   message: lets the provisioner {value} make volumes for claims
#   remedy: >-
#     Name a StorageClass that the administrator has made in the claim's storageClassName.
package sallyport.privileges.storage.provisioner

import data.sallyport.lib

needs contains entry if {
	input.object.kind == "StorageClass"
	provisioner := object.get(input.object, "provisioner", "")
	entry := {
		"privilege": concat("", ["storage-class/", lib.segment(provisioner)]),
		"path": "provisioner",
	}
}
