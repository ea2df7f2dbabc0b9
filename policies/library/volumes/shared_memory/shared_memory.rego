# METADATA
# scope: package
# title: Shared memory for GPUs
# description: >-
#   A container that takes several GPUs has a volume in memory at /dev/shm: the 64 MiB that container
#   runtimes give are too few for NCCL and for data loaders, and training fails hours later. Init
#   containers are let be. A count that is no plain whole number counts as several.
# related_resources:
# - ref: https://github.com/open-policy-agent/gatekeeper-library/tree/master/src/general/gpusharedmemory
#   description: Gatekeeper's twin
# - ref: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory
#   description: NCCL, shared memory
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
#   description: Kubernetes documentation
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# - input.fields: schema.fields
# custom:
#   severity: low
#   message: asks for {value} and has no memory at /dev/shm
#   remedy: >-
#     Mount an emptyDir with medium Memory and a sizeLimit at /dev/shm; its content counts against
#     the container's limit of memory.
#   fields:
#   - spec.volumes[].name
#   - spec.volumes[].emptyDir
#   - spec.containers[].name
#   - spec.containers[].resources.limits
#   - spec.containers[].volumeMounts[].name
#   - spec.containers[].volumeMounts[].mountPath
#   parameters:
#     resources:
#       description: The names of GPUs among resources.
#       type: array
#       minItems: 1
#       items: {type: string, minLength: 1}
#       default: [nvidia.com/gpu, amd.com/gpu]
#     from:
#       description: How many GPUs of one container are several.
#       type: integer
#       minimum: 1
#       maximum: 64
#       default: 2
package sallyport.rules.volumes.shared_memory

import data.sallyport.lib
import data.sallyport.parameters.volumes.shared_memory as parameters

deny contains entry if {
	some index, container in input.fields.spec.containers
	some resource, asked in container.resources.limits
	resource in parameters.resources
	not few(asked)
	not shares(container)
	entry := {
		"path": concat("", [lib.indexed("spec.containers", index), ".volumeMounts"]),
		"value": resource,
		"container": object.get(container, "name", ""),
	}
}

# What is no whole number from zero on is none that Kubernetes takes.
few(asked) if {
	number := lib.number(asked)
	number == floor(number)
	number >= 0
	number < parameters.from
}

shares(container) if {
	some mount in container.volumeMounts
	is_string(mount.mountPath)
	trim_right(mount.mountPath, "/") == "/dev/shm"
	mount.name in in_memory
}

in_memory contains volume.name if {
	some volume in input.fields.spec.volumes
	volume.emptyDir.medium == "Memory"
}
