# METADATA
# scope: package
# title: Topology of a gang
# description: >-
#   A Pod that takes many devices says at which level of the network its gang keeps together (a rack,
#   a block), so that collective operations do not cross the whole fabric. Devices are summed over
#   ordinary and init containers; a count that is no plain whole number counts as many. One of the
#   labels or annotations is enough. Devices by a resource claim are not seen.
# related_resources:
# - ref: https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
#   description: Kueue, topology-aware scheduling
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: asks for {value} devices and names no topology
#   remedy: >-
#     Set the annotation of your scheduler on the Pod template, such as
#     kueue.x-k8s.io/podset-preferred-topology, to a level that your site offers.
#   fields:
#   - metadata.labels
#   - metadata.annotations
#   - spec.containers[].resources.limits
#   - spec.initContainers[].resources.limits
#   parameters:
#     keys:
#       description: The labels and annotations, of which one is enough.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default:
#       - kueue.x-k8s.io/podset-required-topology
#       - kueue.x-k8s.io/podset-preferred-topology
#     levels:
#       description: The levels that may be named; with none, any.
#       type: array
#       items: {type: string, minLength: 1}
#       default: []
#     resources:
#       description: The devices.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [nvidia.com/gpu, amd.com/gpu]
#     from:
#       description: How many devices of one Pod are many.
#       type: integer
#       minimum: 1
#       default: 8
package sallyport.rules.topology.required

import data.sallyport.lib
import data.sallyport.parameters.topology.required as parameters

deny contains {"path": "metadata.annotations", "value": format_int(sum(counts), 10)} if {
	sum(counts) >= parameters.from
	not placed
}

counts := [number |
	some list in ["containers", "initContainers"]
	some container in input.fields.spec[list]
	some resource, asked in container.resources.limits
	resource in parameters.resources
	number := whole(asked)
]

whole(asked) := lib.amount(text) if {
	text := trim(json.marshal(asked), `"`)
	count(text) in {1, 2, 3, 4, 5, 6, 7, 8, 9}
	trim(text, "0123456789") == ""
} else := parameters.from

placed if {
	some place in ["labels", "annotations"]
	some key in parameters.keys
	level := input.fields.metadata[place][key]
	is_string(level)
	level != ""
	offered(level)
}

offered(_) if count(parameters.levels) == 0

offered(level) if level in parameters.levels
