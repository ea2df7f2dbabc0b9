# METADATA
# scope: package
# title: Registries by namespace
# description: >-
#   Images come from the registries and repositories that the namespace may use. An entry is a
#   registry's host, or the beginning of a name up to a slash: registry.example/team allows
#   registry.example/team/trainer and not registry.example/team-b/trainer. Short names are completed
#   as container runtimes do it: python:3 is docker.io/library/python. Init and ephemeral containers
#   and volumes of type image count; a reference that cannot be read is from nowhere. Where who asks
#   decides rather than where it runs, let profiles say it (privileges image/from/**,
#   docs/rules/image/registry.md).
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/allowedreposv2
#   description: Gatekeeper's twin, K8sAllowedReposv2
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/restrict-image-registries
#   description: Kyverno's twin, restrict-image-registries
# - ref: https://kubernetes.io/docs/concepts/containers/images/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: high
#   message: runs an image from {value}, which this namespace does not allow
#   remedy: >-
#     Use an image from a registry of the namespace, by its full name; copy what you need there, or
#     ask for the repository to be added.
#   parameters:
#     registries:
#       description: >-
#         Which images may run in which namespaces (names or patterns such as team-*; in all where
#         none is given). What no entry allows is denied.
#       type: array
#       minItems: 1
#       items:
#         type: object
#         properties:
#           namespaces:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[a-z0-9*-]+$"}
#           images:
#             type: array
#             minItems: 1
#             items: {type: string, pattern: "^[^/].*$"}
#         required: [images]
#         additionalProperties: false
package sallyport.rules.registries.allowed

import data.sallyport.lib

deny contains entry if {
	some container in input.projection.containers
	from := object.get(container, "imageFrom", "%00")
	not allowed(from)
	entry := {
		"path": concat("", [container.path, ".image"]),
		"value": from,
		"container": container.name,
	}
}

deny contains {"path": concat("", [volume.path, ".image.reference"]), "value": from} if {
	some volume in input.projection.volumes
	volume.image
	from := object.get(volume.image, "from", "%00")
	not allowed(from)
}

allowed(from) if {
	some prefix in prefixes
	startswith(concat("", [from, "/"]), prefix)
}

prefixes contains concat("", [trim_right(image, "/"), "/"]) if {
	some entry in data.sallyport.parameters.registries.allowed.registries
	here(entry)
	some image in entry.images
}

here(entry) if not entry.namespaces

here(entry) if {
	some pattern in entry.namespaces
	not lib.unlike_glob(input.context.namespace, pattern)
}
