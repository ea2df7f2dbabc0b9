# METADATA
# scope: package
# title: Volume with a Secret of another namespace
# description: >-
#   A PersistentVolume of a CSI driver names Secrets with their namespaces: the key of a storage
#   account, the password of a share. The driver is handed them whoever mounts the volume, so whoever
#   writes such a volume uses a Secret of any namespace without reading it. Secrets of the namespace
#   of the claim that the volume is kept for (claimRef) need nothing. It is judged for the volume's
#   author, and for whoever names it in a claim that it was not kept for.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#csi
#   description: Kubernetes documentation
# - ref: https://kubernetes-csi.github.io/docs/secrets-and-credentials.html
#   description: Secrets of CSI volumes
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 4
#   privileges:
#   - "volume/secret/*"
#   message: hands a Secret of the namespace {rest} to the volume's driver
#   remedy: >-
#     Keep the volume for a claim of the Secret's namespace (spec.claimRef), or have the administrator
#     make it.
package sallyport.privileges.volume.secret

import data.sallyport.lib

needs contains entry if {
	some volume in input.volumes
	some each in volume.secrets
	entry := {
		"privilege": concat("", ["volume/secret/", lib.segment(each.namespace)]),
		"path": each.path,
	}
}
