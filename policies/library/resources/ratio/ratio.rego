# METADATA
# scope: package
# title: Limits beside requests
# description: >-
#   No limit is more than so many times its request, so that a node is not promised far beyond what it
#   has; with 1 both are equal, as the best quality of service (Guaranteed) asks for CPU and memory.
#   Where no limit is set, or 0, nothing bounds it, and it is denied; where no request is set,
#   Kubernetes requests what is limited. What a container leaves unset the Pod may say
#   (spec.resources), whose own limits are judged too. Init containers count, ephemeral ones, which can
#   have no resources, do not.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/containerresourceratios
#   description: Gatekeeper's twin, K8sContainerRatios
# - ref: https://github.com/kyverno/policies/tree/main/other/enforce-resources-as-ratio
#   description: Kyverno's twins, enforce-resources-as-ratio and memory-requests-equal-limits
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
#   description: Kubernetes documentation, quality of service
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: limits {value} to too many times what it requests
#   remedy: Request what it really uses, and set the limit nearer to it, under resources.
#   fields:
#   - spec.resources
#   - spec.containers[].name
#   - spec.containers[].resources
#   - spec.initContainers[].name
#   - spec.initContainers[].resources
#   parameters:
#     ratios:
#       description: How many times its request a limit may be, by resource.
#       type: object
#       additionalProperties: {type: number, minimum: 1}
#       minProperties: 1
#       default: {memory: 1}
package sallyport.rules.resources.ratio

import data.sallyport.lib
import data.sallyport.parameters.resources.ratio as parameters

deny contains object.union(holder.entry, {"path": path, "value": name}) if {
	some holder in holders
	some name, most in parameters.ratios
	limited(holder.resources, name)
	not near(holder.resources, name, most)
	path := concat(".", [holder.path, "limits", name])
}

deny contains object.union(holder.entry, {"path": path, "value": name, "message": message}) if {
	some holder in holders
	some name, _ in parameters.ratios
	not limited(holder.resources, name)
	not limited(object.get(input.fields, ["spec", "resources"], {}), name)
	not holder.pod
	path := concat(".", [holder.path, "limits", name])
	message := concat("", ["has no limit of ", name])
}

holders contains {"path": "spec.resources", "resources": resources, "entry": {}, "pod": true} if {
	resources := input.fields.spec.resources
}

holders contains holder if {
	some list in ["containers", "initContainers"]
	some index, each in input.fields.spec[list]
	holder := {
		"path": concat("", ["spec.", lib.indexed(list, index), ".resources"]),
		"resources": object.get(each, "resources", {}),
		"entry": {"container": object.get(each, "name", "")},
	}
}

near(resources, name, most) if {
	lib.amount(resources.limits[name]) <= lib.amount(request(resources, name)) * most
}

request(resources, name) := amount if {
	amount := resources.requests[name]
} else := resources.limits[name] if {
	is_object(object.get(resources, "requests", {}))
}

limited(resources, name) if lib.amount(resources.limits[name]) > 0

# What is no amount is denied as one that is too far.
limited(resources, name) if {
	limit := resources.limits[name]
	not lib.amount(limit)
}
