# METADATA
# scope: package
# title: What some sandbox cannot run
# description: >-
#   Names what an object uses that some sandbox cannot run, or would run without; which sandbox
#   cannot run what is the table of the room sandbox. An AppArmor profile is one only where its
#   author wrote it (Localhost): what RuntimeDefault asks for the sandbox gives otherwise. A
#   resource that not every node has is a device, unless it is listed here as something else or
#   as nothing: an unknown one would be missing in the sandbox without a word.
# related_resources:
# - ref: https://gvisor.dev/docs/user_guide/compatibility/
#   description: gVisor, Applications and features that do not work
# - ref: https://gvisor.dev/docs/user_guide/gpu/
#   description: gVisor, GPUs
# - ref: https://cloud.google.com/kubernetes-engine/docs/concepts/sandbox-pods#limitations
#   description: GKE Sandbox, limitations
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
#   description: Kubernetes documentation
# schemas:
# - input: schema.projection
package sallyport.features

import data.sallyport.lib

features contains {"name": "host-network", "path": "spec.hostNetwork"} if input.hostNetwork

features contains {"name": "host-pid", "path": "spec.hostPID"} if input.hostPID

features contains {"name": "host-ipc", "path": "spec.hostIPC"} if input.hostIPC

features contains {"name": "windows", "path": "spec.os.name"} if input.os == "windows"

features contains {"name": "device", "path": "spec.resourceClaims"} if input.resourceClaims

features contains {"name": "selinux", "path": "spec.securityContext.seLinuxOptions"} if {
	input.securityContext.seLinuxOptions
}

features contains {"name": "apparmor", "path": "spec.securityContext.appArmorProfile"} if {
	input.securityContext.appArmorProfile.type == "Localhost"
}

features contains entry if {
	some key, value in input.annotations
	startswith(key, "container.apparmor.security.beta.kubernetes.io/")
	startswith(value, "localhost/")
	entry := {"name": "apparmor", "path": concat("", ["metadata.annotations['", key, "']"])}
}

features contains entry if {
	some volume in input.volumes
	"hostPath" in volume.types
	not volume.hostPath.readOnly
	entry := {"name": "host-path-writable", "path": lib.source(volume, "hostPath")}
}

features contains entry if {
	some name in input.resources
	entry := {"name": feature(name), "path": concat("", ["spec.resources.limits['", name, "']"])}
}

features contains of(container, "privileged", ".securityContext.privileged") if {
	some container in input.containers
	container.securityContext.privileged
}

features contains of(container, "selinux", ".securityContext.seLinuxOptions") if {
	some container in input.containers
	container.securityContext.seLinuxOptions
}

features contains of(container, "apparmor", ".securityContext.appArmorProfile") if {
	some container in input.containers
	container.securityContext.appArmorProfile.type == "Localhost"
}

features contains entry if {
	some container in input.containers
	some path in container.blockDevices
	entry := {"name": "block-volume", "path": path, "container": container.name}
}

features contains of(container, feature(name), limit) if {
	some container in input.containers
	some name in container.resources
	limit := concat("", [".resources.limits['", name, "']"])
}

of(container, name, field) := {
	"name": name,
	"path": concat("", [container.path, field]),
	"container": container.name,
}

# METADATA
# title: Feature of a resource
# description: >-
#   Undefined for resources that need nothing of a sandbox. RDMA also as device plugins call it:
#   Mellanox', NVIDIA's network operator's, Amazon's EFA.
# scope: document
feature("nvidia.com/gpu") := "gpu"

feature("nvidia.com/gpu.shared") := "gpu"

feature(name) := "mig" if startswith(name, "nvidia.com/mig-")

feature(name) := "hugepages" if startswith(name, "hugepages-")

feature(name) := "rdma" if is_rdma(name)

feature(name) := "device" if {
	contains(name, "/")
	not name in {"nvidia.com/gpu", "nvidia.com/gpu.shared"}
	not startswith(name, "nvidia.com/mig-")
	not is_rdma(name)
	not harmless(name)
}

is_rdma(name) if startswith(name, "rdma/")

is_rdma(name) if {
	not startswith(name, "rdma/")
	some word in ["rdma", "roce", "infiniband", "mellanox.com/", "nvidia.com/hostdev", "/efa", "/ib"]
	contains(lower(name), word)
}

# Addresses that are counted as a resource.
harmless("vpc.amazonaws.com/pod-eni")

harmless("vpc.amazonaws.com/PrivateIPv4Address")

harmless(name) if startswith(name, "networking.gke.io.networks/")
