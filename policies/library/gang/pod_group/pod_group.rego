# METADATA
# scope: package
# title: Pod group
# description: >-
#   A Pod with devices names the group that it is scheduled with, so that a gang starts whole. The
#   rule is for schedulers that look at Pods (coscheduling, Volcano, Kueue's plain Pods); for Jobs in
#   a queue take gang/queue. One of the labels or annotations is enough. Devices by a resource claim
#   are not seen.
# related_resources:
# - ref: https://scheduler-plugins.sigs.k8s.io/docs/plugins/coscheduling/
#   description: Coscheduling, the label scheduling.x-k8s.io/pod-group
# - ref: https://volcano.sh/en/docs/podgroup/
#   description: Volcano, the annotation scheduling.k8s.io/group-name
# - ref: https://kueue.sigs.k8s.io/docs/tasks/run/plain_pods/
#   description: Kueue, the label kueue.x-k8s.io/pod-group-name
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: asks for {value} and names no group to be scheduled with
#   remedy: Set the label or the annotation by which your scheduler knows the group.
#   fields:
#   - metadata.labels
#   - metadata.annotations
#   - spec.containers[].resources.limits
#   - spec.containers[].resources.requests
#   - spec.initContainers[].resources.limits
#   - spec.initContainers[].resources.requests
#   parameters:
#     keys:
#       description: The labels and annotations, of which one is enough.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default:
#       - scheduling.x-k8s.io/pod-group
#       - scheduling.k8s.io/group-name
#       - kueue.x-k8s.io/pod-group-name
#     resources:
#       description: The devices that gangs are of.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [nvidia.com/gpu, amd.com/gpu]
package sallyport.rules.gang.pod_group

import data.sallyport.parameters.gang.pod_group as parameters

deny contains {"path": "metadata.labels", "value": concat(", ", asked)} if {
	asked := {resource |
		some list in ["containers", "initContainers"]
		some container in input.fields.spec[list]
		some part in ["limits", "requests"]
		some resource, _ in container.resources[part]
		resource in parameters.resources
	}
	count(asked) > 0
	not grouped
}

grouped if {
	some place in ["labels", "annotations"]
	some key in parameters.keys
	group := input.fields.metadata[place][key]
	is_string(group)
	group != ""
}
