# METADATA
# scope: package
# title: Path of the node
# description: >-
#   A hostPath volume shows a file or directory of the node; so do a PersistentVolume of hostPath
#   or local, and a claim that is bound to one. Writable, it can change the node or other
#   workloads; read-only, it can still show credentials and other tenants' data, and file systems
#   mounted below the path stay writable unless the mount says recursiveReadOnly: Enabled. It
#   counts as read-only only when every mount of it is read-only and its type creates nothing;
#   a PersistentVolume itself never does. Forbidden by Pod Security baseline, which does not look
#   behind claims.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath
#   description: Kubernetes documentation
# - ref: https://github.com/kubernetes/pod-security-admission/blob/v0.37.2/policy/check_hostPathVolumes.go
#   description: The check of Kubernetes' Pod Security admission
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 1
#   risk: 30
#   risks:
#     "volume/hostPath:rw/**": 40
#     "volume/*/%2F": 60
#     "volume/*/run": 60
#     "volume/*/run/containerd": 60
#     "volume/*/run/containerd/**": 60
#     "volume/*/run/cri-dockerd.sock": 60
#     "volume/*/run/crio": 60
#     "volume/*/run/crio/**": 60
#     "volume/*/run/docker.sock": 60
#     "volume/*/run/k3s": 60
#     "volume/*/run/k3s/**": 60
#     "volume/*/run/podman": 60
#     "volume/*/run/podman/**": 60
#     "volume/*/var": 60
#     "volume/*/var/lib": 60
#     "volume/*/var/lib/kubelet": 60
#     "volume/*/var/lib/kubelet/**": 60
#     "volume/*/var/run": 60
#     "volume/*/var/run/containerd": 60
#     "volume/*/var/run/containerd/**": 60
#     "volume/*/var/run/cri-dockerd.sock": 60
#     "volume/*/var/run/crio": 60
#     "volume/*/var/run/crio/**": 60
#     "volume/*/var/run/docker.sock": 60
#     "volume/*/var/run/k3s": 60
#     "volume/*/var/run/k3s/**": 60
#     "volume/*/var/run/podman": 60
#     "volume/*/var/run/podman/**": 60
#     "volume/*/etc/kubernetes": 60
#     "volume/*/etc/kubernetes/**": 60
#     "volume/hostPath:rw/etc": 60
#     "volume/hostPath:rw/etc/**": 60
#     "volume/hostPath:rw/root": 60
#     "volume/hostPath:rw/root/**": 60
#     "volume/hostPath:rw/proc": 60
#     "volume/hostPath:rw/proc/**": 60
#   privileges:
#   - "volume/hostPath:ro/**"
#   - "volume/hostPath:rw/**"
#   message: reaches /{rest} of the node
#   remedy: >-
#     Of a Pod: replace hostPath by an emptyDir (scratch space, node-local cache) or a
#     persistentVolumeClaim (data); where a claim is bound to a path of the node, use one of
#     another StorageClass. If the path is really needed for reading only, set readOnly: true on
#     every volumeMount of it, so that the volume/hostPath:ro privilege is enough. Of a
#     PersistentVolume: keep it for one claim (spec.claimRef), so that the right in the claim's
#     namespace is enough.
package sallyport.privileges.volume.host_path

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	"hostPath" in volume.types
	entry := {
		"privilege": concat("/", array.concat([mode(volume)], segments(volume))),
		"path": lib.source(volume, "hostPath"),
	}
}

default mode(_) := "volume/hostPath:rw"

mode(volume) := "volume/hostPath:ro" if volume.hostPath.readOnly == true

# The root of the node is %2F: a privilege of two segments would be covered by volume/*.
default segments(_) := ["%2F"]

segments(volume) := array.concat(climbs(volume.hostPath.path), parts) if {
	parts := clean(volume.hostPath.path)
	count(parts) > 0
}

# Where a path with ".." leads is not known: it begins with %2E%2E, which no pattern that names a
# path covers.
default climbs(_) := []

climbs(path) := ["%2E%2E"] if ".." in split(path, "/")

clean(path) := [lib.segment(part) |
	some part in split(path, "/")
	not part in {"", "."}
]
