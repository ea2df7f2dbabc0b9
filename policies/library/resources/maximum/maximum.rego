# METADATA
# scope: package
# title: Largest requests and limits
# description: >-
#   No container asks for more of a resource, or may use more of it, than the site's maximum. A limit
#   that is not set, or is 0, bounds nothing and is denied too; extended resources (with a slash, such
#   as nvidia.com/gpu) and huge pages are not given without a limit, so that none is needed for them.
#   The Pod's own limits (spec.resources) count for containers that set none. Init containers count,
#   ephemeral ones, which can have no resources, do not. What a namespace uses in all is for a
#   ResourceQuota to say.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/containerlimits
#   description: Gatekeeper's twins, K8sContainerLimits and K8sContainerRequests
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: medium
#   message: sets {value}, over the site's maximum
#   remedy: Ask for less under resources of the container, or split the work over more Pods.
#   fields:
#   - spec.resources
#   - spec.containers[].name
#   - spec.containers[].resources
#   - spec.initContainers[].name
#   - spec.initContainers[].resources
#   parameters:
#     limits:
#       description: The largest limit of a container, by resource (memory is 512Gi).
#       type: object
#       minProperties: 1
#       additionalProperties: {type: string, pattern: "^[0-9]+(\\.[0-9]+)?(m|[kMGTPE]i?)?$"}
#     requests:
#       description: The largest request of a container, by resource.
#       type: object
#       additionalProperties: {type: string, pattern: "^[0-9]+(\\.[0-9]+)?(m|[kMGTPE]i?)?$"}
#       default: {}
package sallyport.rules.resources.maximum

import data.sallyport.lib
import data.sallyport.parameters.resources.maximum as parameters

deny contains object.union(container.entry, {"path": path, "value": value}) if {
	some container in containers
	some part in ["limits", "requests"]
	some name, most in parameters[part]
	asked := amount(container.resources, part, name)
	lib.over(asked, most)
	path := concat(".", [container.path, part, name])
	value := concat("", [part, ".", name, "=", text(asked)])
}

deny contains object.union(container.entry, {"path": path, "value": value, "message": message}) if {
	some container in containers
	some name, _ in parameters.limits
	not comes_by_limit(name)
	not bounded(container.resources, name)
	not pod_bounded(name)
	path := concat(".", [container.path, "limits", name])
	value := concat("", ["limits.", name])
	message := concat("", ["has no limit of ", name, ", so that it may use more than the site's maximum"])
}

containers contains container if {
	some list in ["containers", "initContainers"]
	some index, each in input.fields.spec[list]
	container := {
		"path": concat("", ["spec.", lib.indexed(list, index), ".resources"]),
		"resources": object.get(each, "resources", {}),
		"entry": {"container": object.get(each, "name", "")},
	}
}

# Kubernetes requests what is limited where no request is set.
amount(resources, part, name) := asked if {
	asked := resources[part][name]
} else := resources.limits[name]

bounded(resources, name) if lib.amount(resources.limits[name]) > 0

# What is no amount has been denied already.
bounded(resources, name) if {
	limit := resources.limits[name]
	not lib.amount(limit)
}

pod_bounded(name) if {
	limit := lib.amount(input.fields.spec.resources.limits[name])
	limit > 0
	limit <= lib.amount(parameters.limits[name])
}

comes_by_limit(name) if contains(name, "/")

comes_by_limit(name) if startswith(name, "hugepages-")

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
