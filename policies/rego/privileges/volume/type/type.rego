# METADATA
# scope: package
# title: Unusual type of volume
# description: >-
#   Volumes of most types are mounted by the node, with the node's credentials and kernel, from
#   a server that the Pod's author names. Pod Security restricted allows configMap, csi,
#   downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected and secret. A
#   volume without any type is volume/%00.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_restrictedVolumes.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 1
#   risk: 15
#   privileges:
#   - "volume/*"
#   message: uses a volume of type {value}
#   remedy: >-
#     Use a persistentVolumeClaim (or an ephemeral volume with a claim template) in place of the
#     volume, and let the administrator define the storage as a PersistentVolume.
package sallyport.privileges.volume.type

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	some type in volume.types
	not type in known
	entry := {
		"privilege": concat("", ["volume/", lib.segment(type)]),
		"path": lib.source(volume, type),
	}
}

needs contains {"privilege": "volume/%00", "path": volume.path} if {
	some volume in input.volumes
	not volume.types[0]
}

# What restricted allows, and hostPath, which has a rule of its own.
known := {
	"configMap",
	"csi",
	"downwardAPI",
	"emptyDir",
	"ephemeral",
	"hostPath",
	"image",
	"persistentVolumeClaim",
	"projected",
	"secret",
}
