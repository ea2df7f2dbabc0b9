# METADATA
# scope: package
# title: Counts of GPUs
# description: >-
#   A container asks for as many GPUs as fill a node without a rest: with eight in a node, 1, 2, 4 or
#   8. Three would leave a GPU that no other can use and split the links between them. Init
#   containers count. A count that is no plain whole number is denied. Devices by a resource claim
#   are not seen, nor how many several containers of one Pod ask for together.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
#   description: Kubernetes documentation
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/gpuresourcelimits
#   description: Gatekeeper's nearest, GPU resource limits
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: asks for {value}
#   remedy: Ask for a count that your site allows, and scale by the number of Pods.
#   fields:
#   - spec.containers[].name
#   - spec.containers[].resources.limits
#   - spec.containers[].resources.requests
#   - spec.initContainers[].name
#   - spec.initContainers[].resources.limits
#   - spec.initContainers[].resources.requests
#   parameters:
#     resources:
#       description: The names of GPUs among resources.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [nvidia.com/gpu, amd.com/gpu]
#     counts:
#       description: The counts that are allowed besides 0.
#       type: array
#       minItems: 1
#       items: {type: integer, minimum: 1}
#       default: [1, 2, 4, 8]
package sallyport.rules.resources.gpu_whole

import data.sallyport.lib
import data.sallyport.parameters.resources.gpu_whole as parameters

deny contains entry if {
	some list in ["containers", "initContainers"]
	some index, container in input.fields.spec[list]
	some part in ["limits", "requests"]
	some resource, asked in container.resources[part]
	resource in parameters.resources
	not allowed(asked)
	entry := {
		"path": concat("", ["spec.", lib.indexed(list, index), ".resources.", part, "['", resource, "']"]),
		"value": concat(" ", [text(asked), resource]),
		"container": object.get(container, "name", ""),
	}
}

allowed(asked) if asked in {0, "0"}

allowed(asked) if {
	some number in parameters.counts
	asked in {number, format_int(number, 10)}
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
