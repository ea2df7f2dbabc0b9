# METADATA
# scope: package
# title: Forbidden tags and images
# description: >-
#   No image by a tag that moves, latest first of all, and none of those that the site has banned.
#   An image without a tag has the tag latest; with a digest its tag does not count. A banned name is
#   a registry, or the beginning of a name up to a slash, and short names are completed as container
#   runtimes do it: python:3 is docker.io/library/python. Init and ephemeral containers and volumes
#   of type image count. A copy of a banned image by another name is not found: allow registries
#   instead (registries/allowed). That a digest must be there is for profiles to say (the privilege
#   image/unpinned, docs/rules/image/digest.md).
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/disallowedtags
#   description: Gatekeeper's twins, K8sDisallowedTags and K8sDisallowedRepos
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/disallow-latest-tag
#   description: Kyverno's twin, disallow-latest-tag
# - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: medium
#   message: runs an image by the tag {value}
#   remedy: >-
#     Name a version, or better a digest (name@sha256:…); in place of a banned image use what your
#     site offers.
#   parameters:
#     tags:
#       description: Tags that no image may be named by.
#       type: array
#       items: {type: string, minLength: 1}
#       default: [latest]
#     images:
#       description: Banned registries and repositories, in full (docker.io/library/python).
#       type: array
#       items: {type: string, pattern: "^[^/A-Z]+(/[^A-Z]*)?$"}
#       default: []
package sallyport.rules.images.forbidden

import data.sallyport.parameters.images.forbidden as parameters

deny contains object.union(image.entry, {"value": image.tag}) if {
	some image in images
	not image.pinned
	image.tag in parameters.tags
}

deny contains object.union(image.entry, {"value": image.from, "message": message}) if {
	some image in images
	some name in parameters.images
	startswith(concat("", [image.from, "/"]), concat("", [trim_right(name, "/"), "/"]))
	message := concat("", ["runs the banned image ", image.from])
}

deny contains object.union(image.entry, {"value": image.from, "message": message}) if {
	count(parameters.images) > 0
	some image in images
	startswith(image.from, "%00")
	message := "runs an image by a reference that cannot be read"
}

images contains image if {
	some container in input.projection.containers
	reference := object.get(container, "image", "")
	image := {
		"entry": {"path": concat("", [container.path, ".image"]), "container": container.name},
		"from": plain(object.get(container, "imageFrom", "%00")),
		"tag": tag(reference),
		"pinned": object.get(container, "pinned", false),
	}
}

images contains image if {
	some volume in input.projection.volumes
	volume.image
	reference := object.get(volume.image, "reference", "")
	image := {
		"entry": {"path": concat("", [volume.path, ".image.reference"])},
		"from": plain(object.get(volume.image, "from", "%00")),
		"tag": tag(reference),
		"pinned": object.get(volume.image, "pinned", false),
	}
}

# A registry has one name, in capitals or with the port of HTTPS.
plain(from) := replace(lower(from), ":443/", "/")

tag(reference) := parts[1] if {
	parts := split(last(reference), ":")
	count(parts) > 1
} else := "latest"

last(reference) := components[count(components) - 1] if {
	components := split(split(reference, "@")[0], "/")
}
