# METADATA
# scope: package
# title: What some sandbox cannot run
# description: >-
#   Names what an object uses that some sandbox cannot run, or would run without; which sandbox
#   cannot run what is the table of the room sandbox. An AppArmor or seccomp profile is one only
#   where its author wrote it (Localhost): what RuntimeDefault asks for the sandbox gives
#   otherwise. A resource that not every node has is a device, unless it is listed here as
#   something else or as nothing: an unknown one would be missing in the sandbox without a word.
#   A read-only mount keeps nobody from connecting to a socket or from using a device, so paths of
#   the node that are one, or hold known ones, count however they are mounted.
# related_resources:
# - ref: https://gvisor.dev/docs/user_guide/compatibility/
#   description: gVisor, Applications and features that do not work
# - ref: https://gvisor.dev/docs/user_guide/gpu/
#   description: gVisor, GPUs
# - ref: https://cloud.google.com/kubernetes-engine/docs/concepts/sandbox-pods#limitations
#   description: GKE Sandbox, limitations
# - ref: https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources
#   description: Kubernetes documentation
# - ref: https://kubernetes.io/docs/concepts/workloads/pods/user-namespaces/
#   description: Kubernetes documentation, user namespaces
# - ref: https://kubernetes.io/docs/concepts/storage/volumes/#recursive-read-only-mounts
#   description: Kubernetes documentation, recursive read-only mounts
# schemas:
# - input: schema.projection
package sallyport.features

import data.sallyport.lib

features contains {"name": "host-network", "path": "spec.hostNetwork"} if input.hostNetwork

features contains {"name": "host-pid", "path": "spec.hostPID"} if input.hostPID

features contains {"name": "host-ipc", "path": "spec.hostIPC"} if input.hostIPC

features contains {"name": "user-namespace", "path": "spec.hostUsers"} if input.hostUsers == false

features contains {"name": "windows", "path": "spec.os.name"} if input.os == "windows"

features contains {"name": "device", "path": "spec.resourceClaims"} if input.resourceClaims

features contains {"name": "selinux", "path": "spec.securityContext.seLinuxOptions"} if {
	input.securityContext.seLinuxOptions
}

features contains {"name": "apparmor", "path": "spec.securityContext.appArmorProfile"} if {
	input.securityContext.appArmorProfile.type == "Localhost"
}

features contains {"name": "seccomp", "path": "spec.securityContext.seccompProfile"} if {
	input.securityContext.seccompProfile.type == "Localhost"
}

# The network's own settings are the sandbox's, all but this one.
features contains entry if {
	some index, sysctl in input.securityContext.sysctls
	sysctl.name != "net.ipv6.conf.all.disable_ipv6"
	entry := {"name": "sysctl", "path": lib.indexed("spec.securityContext.sysctls", index)}
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
	entry := {"name": of_path(volume), "path": lib.source(volume, "hostPath")}
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

features contains of(container, "seccomp", ".securityContext.seccompProfile") if {
	some container in input.containers
	container.securityContext.seccompProfile.type == "Localhost"
}

features contains of(container, "raw-network", field) if {
	some container in input.containers
	some index, capability in container.securityContext.capabilities.add
	trim_prefix(upper(capability), "CAP_") in {"NET_RAW", "ALL"}
	field := lib.indexed(".securityContext.capabilities.add", index)
}

features contains entry if {
	some container in input.containers
	some path in container.recursiveReadOnly
	entry := {"name": "recursive-read-only", "path": path, "container": container.name}
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
# title: Feature of a path of the node
# description: Undefined for one that is only read, and is no socket, no device and holds neither.
# scope: document
of_path(volume) := "host-socket" if holds_socket(segments(volume))

of_path(volume) := "device" if {
	path := segments(volume)
	not holds_socket(path)
	is_device(path)
}

of_path(volume) := "host-path-writable" if {
	not volume.hostPath.readOnly
	path := segments(volume)
	not holds_socket(path)
	not is_device(path)
}

# Each segment with a slash behind it, so that what a path begins with is a directory above it;
# the root of the node is empty. /var/run is a link to /run.
default segments(_) := ""

segments(volume) := path if {
	path := cleaned(volume)
	not startswith(path, "var/run/")
}

segments(volume) := trim_prefix(path, "var/") if {
	path := cleaned(volume)
	startswith(path, "var/run/")
}

cleaned(volume) := concat("", [concat("", [segment, "/"]) |
	some segment in split(volume.hostPath.path, "/")
	not segment in {"", "."}
])

# Where the container's runtime, the kubelet and its plugins, and systemd listen.
sockets := {
	"dev/log/",
	"run/containerd/",
	"run/cri-dockerd.sock/",
	"run/crio/",
	"run/dbus/",
	"run/docker.sock/",
	"run/docker/",
	"run/dockershim.sock/",
	"run/k0s/",
	"run/k3s/",
	"run/podman/",
	"run/systemd/",
	"var/lib/kubelet/device-plugins/",
	"var/lib/kubelet/plugins/",
	"var/lib/kubelet/plugins_registry/",
	"var/lib/kubelet/pod-resources/",
	"var/snap/microk8s/common/run/",
}

holds_socket(path) if {
	some socket in sockets
	startswith(socket, path)
	path != "dev/"
}

holds_socket(path) if {
	some socket in sockets
	startswith(path, socket)
}

# An application's own.
holds_socket(path) if endswith(path, ".sock/")

holds_socket(path) if endswith(path, "/socket/")

# Where these lead is not known: kube-apiserver refuses the first, and a process's root may be any.
holds_socket(path) if startswith(path, "../")

holds_socket(path) if contains(path, "/../")

holds_socket(path) if {
	startswith(path, "proc/")
	some link in {"/root/", "/cwd/"}
	contains(path, link)
}

is_device(path) if {
	startswith(path, "dev/")
	not startswith(path, "dev/shm/")
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
