# METADATA
# scope: package
# title: Devices asked for by a mount
# description: >-
#   Where NVIDIA's toolkit accepts device lists as volume mounts, a mount whose path in the
#   container begins with /var/run/nvidia-container-devices names a GPU by the rest of the path,
#   and the container gets it, past the device plugin. The toolkit compares the beginning of the
#   cleaned path, so …-devices0 works as well as …-devices/0. Only the device plugin makes such
#   mounts, and not through the Pod.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
#   description: Kubernetes documentation
# - ref: https://github.com/NVIDIA/nvidia-container-toolkit/blob/v1.17.8/cmd/nvidia-container-runtime-hook/container_config.go
#   description: How the toolkit reads mounts
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 2
#   risk: 20
#   privileges:
#   - "gpu/mount"
#   message: asks for devices by a mount
#   remedy: >-
#     Remove the volumeMount and request the device: resources.limits with nvidia.com/gpu, or a
#     resource claim.
package sallyport.privileges.gpu.mount

needs contains entry if {
	some container in input.containers
	some mount in container.mounts
	entry := {"privilege": "gpu/mount", "path": mount.path, "container": container.name}
}
