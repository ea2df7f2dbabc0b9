# METADATA
# scope: package
# title: Requests and limits
# description: >-
#   Each container says how much it requests and may use of the resources that parameters name, so
#   that the scheduler packs nodes well and no neighbour starves; the Pod's own (spec.resources) count
#   for all of its containers. A request of 0 is none. Kubernetes requests what is limited where no
#   request is set, so that a limit is enough for a request. Init containers count, ephemeral ones,
#   which can have neither, do not. A missing limit of CPU or memory is a privilege already
#   (limits/unset/*, docs/rules/limits/unset.md); take this rule for requests and other resources.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/containerresources
#   description: Gatekeeper's twins, K8sRequiredResources and K8sContainerEphemeralStorageLimit
# - ref: https://github.com/kyverno/policies/tree/main/best-practices/require-pod-requests-limits
#   description: Kyverno's twin, require-pod-requests-limits
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: does not set {value}
#   remedy: Set it under resources of the container, to what it really uses.
#   fields:
#   - spec.resources
#   - spec.containers[].name
#   - spec.containers[].resources
#   - spec.initContainers[].name
#   - spec.initContainers[].resources
#   parameters:
#     requests:
#       description: The resources that must be requested.
#       type: array
#       items: {type: string, minLength: 1}
#       default: [cpu, memory]
#     limits:
#       description: The resources that must be limited.
#       type: array
#       items: {type: string, minLength: 1}
#       default: [memory, ephemeral-storage]
package sallyport.rules.resources.required

import data.sallyport.lib
import data.sallyport.parameters.resources.required as parameters

deny contains entry if {
	some list in ["containers", "initContainers"]
	some index, container in input.fields.spec[list]
	some part, names in {"requests": parameters.requests, "limits": parameters.limits}
	some name in names
	not good(container, part, name)
	value := concat(".", ["resources", part, name])
	entry := {
		"path": concat(".", ["spec", lib.indexed(list, index), value]),
		"value": value,
		"container": object.get(container, "name", ""),
	}
}

good(container, part, name) if stated(container, part, name)

good(_, part, name) if stated(input.fields.spec, part, name)

good(container, "requests", name) if is_limit_alone(container, name)

good(_, "requests", name) if is_limit_alone(input.fields.spec, name)

stated(holder, part, name) if is_amount(holder.resources[part][name])

is_limit_alone(holder, name) if {
	stated(holder, "limits", name)
	not requested(holder, name)
}

requested(holder, name) if object.get(holder, ["resources", "requests", name], null) != null

is_amount(amount) if {
	is_number(amount)
	amount > 0
}

is_amount(amount) if {
	is_string(amount)
	some digit in ["1", "2", "3", "4", "5", "6", "7", "8", "9"]
	startswith(trim_left(amount, "+0."), digit)
}
