# METADATA
# scope: package
# title: Image not pinned by digest
# description: >-
#   A tag can be moved: what was reviewed, scanned and tested is not what runs the next day, or on
#   the next node of a gang. Only a digest (@sha256: and 64 hexadecimal digits) fixes the content;
#   with a tag beside it the digest counts. Volumes of type image (since Kubernetes 1.31, by
#   default since 1.35) are images too. A reference that cannot be read, a digest of the wrong
#   length, and the bare sha256:… of an image that the node already has are not pinned.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#   description: Kubernetes documentation
# - ref: https://github.com/distribution/reference/blob/v0.6.0/regexp.go
#   description: How runtimes read a reference
# - ref: https://github.com/opencontainers/image-spec/blob/v1.1.1/descriptor.md#digests
#   description: Digests, OCI image specification
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   privileges:
#   - "image/unpinned"
#   message: runs an image whose content can change (no digest)
#   remedy: >-
#     Write the digest behind the image's name: registry.example/team/image@sha256:…; the registry
#     shows it, and so does kubectl get pod -o jsonpath='{.status.containerStatuses[*].imageID}'
#     on a Pod that runs it.
package sallyport.privileges.image.digest

needs contains entry if {
	some container in input.containers
	not container.pinned
	entry := {
		"privilege": "image/unpinned",
		"path": concat("", [container.path, ".image"]),
		"container": container.name,
	}
}

needs contains entry if {
	some volume in input.volumes
	volume.image
	not volume.image.pinned
	entry := {
		"privilege": "image/unpinned",
		"path": concat("", [volume.path, ".image.reference"]),
	}
}
