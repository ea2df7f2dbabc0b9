# METADATA
# scope: package
# title: Raw block device
# description: >-
#   A volume mounted under volumeDevices shows the block device itself: its sectors, below any
#   file system. A program can write a file system that attacks the kernel of the node that mounts
#   it next, and it can read what an earlier tenant left there. Neither a user namespace nor
#   gVisor can have it.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#raw-block-volume-support
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/enhancements/tree/master/keps/sig-storage/351-raw-block-support
#   description: Raw block volumes, KEP-351
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   risk: 30
#   privileges:
#   - "volume/block"
#   message: uses a raw block device
#   remedy: >-
#     Use a claim with volumeMode: Filesystem under volumeMounts in place of volumeDevices.
package sallyport.privileges.volume.block

needs contains entry if {
	some container in input.containers
	some path in container.blockDevices
	entry := {"privilege": "volume/block", "path": path, "container": container.name}
}
