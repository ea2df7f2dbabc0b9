# METADATA
# scope: package
# title: Registry and repository of an image
# description: >-
#   Where a container's code comes from: the registry's host, with its port where one is given,
#   and the repository, a segment each, so that image/from/registry.example/team/** allows one
#   team's images. Every image needs its own. Short names are completed as container runtimes do
#   it: python:3 is docker.io/library/python (CRI-O asks its list of registries instead: write
#   full names there). Volumes of type image count. A reference that cannot be read, and the bare
#   sha256:… of an image that the node already has, whoever pulled it with whatever credentials,
#   are image/from/%00/<the reference>.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/images/
#   description: Kubernetes documentation
# - ref: https://github.com/distribution/reference/blob/v0.6.0/normalize.go
#   description: How runtimes complete short names
# - ref: https://github.com/containerd/containerd/blob/v2.2.0/internal/cri/server/images/service.go
#   description: How containerd finds images by their id
# schemas:
# - input: schema.projection
# custom:
#   severity: medium
#   since: 2
#   risk: 20
#   privileges:
#   - "image/from/**"
#   message: runs an image from {rest}
#   remedy: >-
#     Use an image from a registry that your profile lists, by its full name; copy what you need
#     there, or ask for the repository to be added.
package sallyport.privileges.image.registry

needs contains entry if {
	some container in input.containers
	entry := {
		"privilege": concat("", ["image/from/", object.get(container, "imageFrom", "%00")]),
		"path": concat("", [container.path, ".image"]),
		"container": container.name,
	}
}

needs contains entry if {
	some volume in input.volumes
	volume.image
	entry := {
		"privilege": concat("", ["image/from/", object.get(volume.image, "from", "%00")]),
		"path": concat("", [volume.path, ".image.reference"]),
	}
}
