# METADATA
# scope: package
# title: Mount options of a volume
# description: >-
#   spec.mountOptions of a PersistentVolume, and the annotation volume.beta.kubernetes.io/mount-options,
#   which kubelets heed still, become arguments of a mount helper that runs as root on the node: paths
#   of caches and logs on the node, owners of all files, switches of its own. Options that only take
#   away (ro, nodev, noexec, nosuid) or say when a file was read (noatime, nodiratime, relatime) need
#   nothing. It is judged for the volume's author, and for whoever names it in a claim that it was not
#   kept for; the options of a StorageClass are its author's (rule storage/provisioner).
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#mount-options
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/volume/util/util.go
#   description: Where kubelets read them
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 4
#   privileges:
#   - "volume/mount-option/*"
#   message: tells the node how to mount a volume ({rest})
#   remedy: >-
#     Remove the option from spec.mountOptions and from the annotation, or use a claim of a StorageClass that has it.
package sallyport.privileges.volume.mount_option

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	some option in volume.options
	entry := {
		"privilege": concat("", ["volume/mount-option/", lib.segment(option)]),
		"path": lib.source(volume, "mountOptions"),
	}
}
