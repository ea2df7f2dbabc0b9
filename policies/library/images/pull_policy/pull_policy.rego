# METADATA
# scope: package
# title: Image pull policy
# description: >-
#   A container pulls its image as parameters say: with Always the kubelet asks the registry each
#   time, so that only who may pull an image can run it from the node's store. The API fills the
#   field in; a file that leaves it out is denied. Init and ephemeral containers and volumes of type
#   image count.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/imagepullpolicy-always
#   description: Kyverno's twin, imagepullpolicy-always
# - ref: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#alwayspullimages
#   description: Kubernetes documentation, AlwaysPullImages
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: pulls its image {value}
#   remedy: Set imagePullPolicy of the container to Always, or to what your site allows.
#   fields:
#   - spec.containers[].name
#   - spec.containers[].imagePullPolicy
#   - spec.initContainers[].name
#   - spec.initContainers[].imagePullPolicy
#   - spec.ephemeralContainers[].name
#   - spec.ephemeralContainers[].imagePullPolicy
#   - spec.volumes[].image.pullPolicy
#   parameters:
#     policies:
#       description: The policies that are allowed.
#       type: array
#       minItems: 1
#       items: {enum: [Always, IfNotPresent, Never]}
#       default: [Always]
package sallyport.rules.images.pull_policy

import data.sallyport.lib
import data.sallyport.parameters.images.pull_policy as parameters

deny contains entry if {
	some list in ["containers", "initContainers", "ephemeralContainers"]
	some index, container in input.fields.spec[list]
	policy := object.get(container, "imagePullPolicy", "by its tag")
	not policy in parameters.policies
	entry := {
		"path": concat("", ["spec.", lib.indexed(list, index), ".imagePullPolicy"]),
		"value": text(policy),
		"container": object.get(container, "name", ""),
	}
}

deny contains {"path": path, "value": text(policy)} if {
	some index, volume in input.fields.spec.volumes
	volume.image
	policy := object.get(volume.image, "pullPolicy", "by its tag")
	not policy in parameters.policies
	path := concat("", [lib.indexed("spec.volumes", index), ".image.pullPolicy"])
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
