# METADATA
# scope: package
# title: Size of scratch volumes
# description: >-
#   An emptyDir says how large it may grow: without a limit one fills the node's disk, or with medium
#   Memory the node's memory, and the kubelet evicts its neighbours.
# related_resources:
# - ref: https://github.com/kyverno/policies/tree/main/other/require-emptydir-requests-limits
#   description: Kyverno's nearest, require-emptydir-requests-limits
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: has a scratch volume without a limit ({value})
#   remedy: Set emptyDir.sizeLimit of the volume.
#   fields:
#   - spec.volumes[].name
#   - spec.volumes[].emptyDir
#   parameters:
#     mediums:
#       description: The mediums that need a limit; "" is the node's disk.
#       type: array
#       minItems: 1
#       items: {enum: ["", Memory]}
#       default: ["", Memory]
package sallyport.rules.volumes.empty_dir

import data.sallyport.lib

deny contains {"path": path, "value": text(object.get(volume, "name", ""))} if {
	some index, volume in input.fields.spec.volumes
	object.get(volume, "emptyDir", null) != null
	bounded(object.get(volume, ["emptyDir", "medium"], ""))
	not limited(object.get(volume, ["emptyDir", "sizeLimit"], null))
	path := concat("", [lib.indexed("spec.volumes", index), ".emptyDir.sizeLimit"])
}

# Huge pages are limited by what the containers ask for.
bounded(medium) if {
	not is_string(medium)
}

bounded(medium) if medium in data.sallyport.parameters.volumes.empty_dir.mediums

limited(size) if {
	is_number(size)
	size > 0
}

limited(size) if {
	is_string(size)
	regex.match(`[1-9]`, size)
	not startswith(size, "-")
}

text(value) := value if is_string(value)

text(value) := json.marshal(value) if not is_string(value)
