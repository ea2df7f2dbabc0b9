# METADATA
# scope: package
# title: Annotation that steers the container runtime
# description: >-
#   Container runtimes, and plugins in them, obey annotations of the Pod where the node is set up
#   to pass them on: dev.gvisor.flag.* turns off parts of the sandbox, io.katacontainers.* changes
#   the virtual machine and its kernel, io.kubernetes.cri-o.Devices, cdi.k8s.io/* and
#   devices.noderesource.dev/* give devices of the node, run.oci.* and org.systemd.property.* set
#   hooks and properties of runc and crun, io.containers.trace-syscall writes a file on the node,
#   io.microsoft.* takes drivers and boot files of a Windows node. They defeat the sandbox or the
#   gate itself, so nobody may, with any profile. Of gVisor's,
#   dev.gvisor.spec.mount.<volume>.share, .type and .options and
#   dev.gvisor.empty-dir.<volume>.force-shared only describe volumes and are let be; so is what
#   says where in a Windows container its dumps go.
# related_resources:
# - ref: https://kubernetes.io/docs/concepts/containers/runtime-class/
#   description: Kubernetes documentation
# - ref: https://github.com/google/gvisor/blob/master/runsc/specutils/specutils.go
#   description: What annotations change in gVisor
# - ref: https://github.com/kata-containers/kata-containers/blob/main/docs/how-to/how-to-set-sandbox-config-kata.md
#   description: What annotations change in Kata Containers
# - ref: https://github.com/cri-o/cri-o/blob/main/pkg/annotations/v2/annotations.go
#   description: What annotations change in CRI-O
# - ref: https://github.com/microsoft/hcsshim/blob/main/pkg/annotations/annotations.go
#   description: What annotations change on Windows
# - ref: https://github.com/opencontainers/runc/blob/main/docs/systemd.md
#   description: Properties of systemd that runc takes
# - ref: https://github.com/containerd/nri/tree/main/plugins
#   description: Plugins of the Node Resource Interface
# schemas:
# - input: schema.projection
# custom:
#   severity: critical
#   since: 2
#   message: steers the container runtime by the annotation {value}
#   remedy: >-
#     Remove the annotation. Devices come from resources.limits or a resource claim, the sandbox
#     from the namespace's profile; what else a node must do is for the administrator to set
#     there.
package sallyport.rules.runtime.annotations

deny contains entry if {
	some name, _ in input.annotations
	steers(name)
	not describes_volume(split(name, "."))
	not name in of_dumps
	entry := {"path": concat("", ["metadata.annotations['", name, "']"]), "value": name}
}

steers(name) if {
	some prefix in prefixes
	startswith(name, prefix)
}

# A name without a slash counts as well: CRI-O reads devices.crio.io, and devices.crio.io.<container>.
steers(name) if {
	domain := concat("", [".", split(name, "/")[0], "."])
	some suffix in domains
	contains(domain, suffix)
}

prefixes := {
	"com.github.containers.virtcontainers.",
	"dev.gvisor.",
	"io.containerd.",
	"io.containers.trace-syscall",
	"io.katacontainers.",
	"io.kubernetes.cri-o.",
	"io.kubernetes.cri.",
	"io.microsoft.",
	"microsoft.com/hostprocess",
	"module.wasm.image/",
	"org.criu.config",
	"org.systemd.property.",
	"run.oci.",
}

domains := {
	".cdi.k8s.io.",
	".devices.gke.io.",
	".cri-o.io.",
	".crio.io.",
	".noderesource.dev.",
	".nri.containerd.io.",
	".nri.io.",
}

# AKS passes these on, and no others (Azure/AgentBaker, staging/cse/windows/containerdfunc.ps1).
of_dumps := {
	"io.microsoft.container.processdumplocation",
	"io.microsoft.wcow.processdumpcount",
	"io.microsoft.wcow.processdumptype",
}

# Kubernetes allows no dot in a volume's name.
describes_volume(["dev", "gvisor", "spec", "mount", _, setting]) if {
	setting in {"options", "share", "type"}
}

describes_volume(["dev", "gvisor", "empty-dir", _, "force-shared"])
