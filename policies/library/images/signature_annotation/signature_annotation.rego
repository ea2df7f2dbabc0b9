# METADATA
# scope: package
# title: A verifier's word on each image
# description: >-
#   What checks signatures writes its verdicts into an annotation, a JSON object from image to
#   verdict; each image of the Pod has one that is accepted. This rule reads no signature: the
#   annotation is worth what the verifier's webhook makes it worth, which must overwrite what authors
#   write there, and run for every Pod. Pod templates, which verifiers do not annotate, are let be
#   unless parameters say otherwise; a Pod is known by its namespace, which kube-apiserver always
#   fills in, so that files for `sallyport review` must name it. Init and ephemeral containers and
#   volumes of type image count; an image that is added for debugging needs a verdict as well.
# related_resources:
# - ref: https://kyverno.io/docs/policy-types/cluster-policy/verify-images/overview/
#   description: Kyverno's verifyImages, which writes the annotation kyverno.io/verify-images
# - ref: https://docs.sigstore.dev/policy-controller/overview/
#   description: Sigstore's policy-controller, which checks and writes no annotation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: high
#   message: runs {value}, for which no verifier vouches
#   remedy: >-
#     Sign the image as your site does it, and name it by its digest; where it is signed, look at
#     what the verifier says of it.
#   fields:
#   - metadata.annotations
#   - metadata.namespace
#   parameters:
#     annotation:
#       description: The annotation.
#       type: string
#       minLength: 1
#       default: kyverno.io/verify-images
#     verdicts:
#       description: The verdicts that are accepted.
#       type: array
#       minItems: 1
#       items: {type: [string, boolean]}
#       default: [pass, true]
#     templates:
#       description: Whether Pod templates need it too.
#       type: boolean
#       default: false
package sallyport.rules.images.signature_annotation

import data.sallyport.lib
import data.sallyport.parameters.images.signature_annotation as parameters

deny contains entry if {
	asked
	some container in input.projection.containers
	image := object.get(container, "image", "")
	not vouched(image)
	entry := {
		"path": concat("", [container.path, ".image"]),
		"value": image,
		"container": container.name,
	}
}

deny contains {"path": concat("", [volume.path, ".image.reference"]), "value": image} if {
	asked
	some volume in input.projection.volumes
	volume.image
	image := object.get(volume.image, "reference", "")
	not vouched(image)
}

asked if parameters.templates

asked if input.fields.metadata.namespace

vouched(image) if verdicts[image] in parameters.verdicts

verdicts := lib.parsed(input.fields.metadata.annotations[parameters.annotation])
