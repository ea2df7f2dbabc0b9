# METADATA
# scope: package
# title: Devices asked for by an environment variable
# description: >-
#   Container toolkits read environment variables and put the devices they name into the
#   container, past the device plugin, quotas and other people's reservations:
#   NVIDIA_VISIBLE_DEVICES with the value all gives every GPU of the node. So do other vendors'
#   …_VISIBLE_DEVICES; NVIDIA_MIG_CONFIG_DEVICES, NVIDIA_MIG_MONITOR_DEVICES,
#   NVIDIA_IMEX_CHANNELS, NVIDIA_GDS, NVIDIA_GDRCOPY, NVIDIA_MOFED, NVIDIA_NVSWITCH and
#   ASCEND_VNPU_SPECS add more, and CUDA_VERSION asks for all GPUs where nothing else is set (old
#   images). void, none and empty ask for nothing; a value from a reference is not known and
#   counts. Images bake such variables in, and envFrom brings them too, unseen here:
#   NVIDIA_VISIBLE_DEVICES with the value void in env wins over both, and the toolkit's setting
#   accept-nvidia-visible-devices-envvar-when-unprivileged = false closes it for NVIDIA's GPUs.
#   NVIDIA_DRIVER_CAPABILITIES and NVIDIA_REQUIRE_* choose libraries only. CUDA_VISIBLE_DEVICES,
#   ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and the like are read by the program's own
#   libraries, not by runtimes, and only narrow what it has.
# related_resources:
# - ref: https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
#   description: Kubernetes documentation
# - ref: https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/internal/config/image/cuda_image.go
#   description: What NVIDIA's toolkit reads
# - ref: https://github.com/ROCm/container-toolkit
#   description: AMD's toolkit
# - ref: https://github.com/HabanaAI/habana-container-runtime
#   description: Intel Gaudi's runtime
# - ref: https://gitee.com/ascend/ascend-docker-runtime
#   description: Huawei Ascend's runtime
# schemas:
# - input: schema.projection
# custom:
#   severity: high
#   since: 2
#   risk: 20
#   privileges:
#   - "gpu/env/*"
#   message: asks for devices by the environment variable {rest}
#   remedy: >-
#     Remove the variable and request the device: resources.limits with nvidia.com/gpu, or a
#     resource claim. Where no device is wanted, set NVIDIA_VISIBLE_DEVICES: void.
package sallyport.privileges.gpu.environment

import data.sallyport.lib

# The projection has those that a toolkit obeys and that ask for something: values stay out of it.
needs contains entry if {
	some container in input.containers
	some variable in container.env
	entry := {
		"privilege": concat("", ["gpu/env/", lib.segment(variable.name)]),
		"path": variable.path,
		"container": container.name,
	}
}
