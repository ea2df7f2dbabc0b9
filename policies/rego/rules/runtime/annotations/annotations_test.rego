package sallyport.rules.runtime.annotations_test

import data.sallyport.rules.runtime.annotations

test_refused_gvisor if {
	annotations.deny == {
		{
			"path": "metadata.annotations['dev.gvisor.flag.host-uds']",
			"value": "dev.gvisor.flag.host-uds",
		},
		{
			"path": "metadata.annotations['dev.gvisor.internal.seccomp']",
			"value": "dev.gvisor.internal.seccomp",
		},
		{
			"path": "metadata.annotations['dev.gvisor.spec.rootfs.overlay']",
			"value": "dev.gvisor.spec.rootfs.overlay",
		},
	} with input as {
		"annotations": {
			"dev.gvisor.flag.host-uds": "",
			"dev.gvisor.internal.seccomp": "",
			"dev.gvisor.spec.rootfs.overlay": "",
		},
	}
}

test_refused_gvisor_near_what_describes_volumes if {
	annotations.deny == {
		{
			"path": "metadata.annotations['dev.gvisor.spec.mount.scratch.source']",
			"value": "dev.gvisor.spec.mount.scratch.source",
		},
		{
			"path": "metadata.annotations['dev.gvisor.spec.mount.share']",
			"value": "dev.gvisor.spec.mount.share",
		},
		{
			"path": "metadata.annotations['dev.gvisor.spec.mount.a.b.share']",
			"value": "dev.gvisor.spec.mount.a.b.share",
		},
		{
			"path": "metadata.annotations['dev.gvisor.empty-dir.scratch.other']",
			"value": "dev.gvisor.empty-dir.scratch.other",
		},
		{
			"path": "metadata.annotations['dev.gvisor.spec.mount.scratch.share/x']",
			"value": "dev.gvisor.spec.mount.scratch.share/x",
		},
		{
			"path": "metadata.annotations['dev.gvisor.spec.mount.scratch.share.x']",
			"value": "dev.gvisor.spec.mount.scratch.share.x",
		},
	} with input as {
		"annotations": {
			"dev.gvisor.spec.mount.scratch.source": "",
			"dev.gvisor.spec.mount.share": "",
			"dev.gvisor.spec.mount.a.b.share": "",
			"dev.gvisor.empty-dir.scratch.other": "",
			"dev.gvisor.spec.mount.scratch.share/x": "",
			"dev.gvisor.spec.mount.scratch.share.x": "",
		},
	}
}

test_refused_kata if {
	annotations.deny == {{
		"path": "metadata.annotations['io.katacontainers.config.hypervisor.kernel_params']",
		"value": "io.katacontainers.config.hypervisor.kernel_params",
	}} with input as {"annotations": {"io.katacontainers.config.hypervisor.kernel_params": ""}}
}

test_refused_crio if {
	annotations.deny == {
		{
			"path": "metadata.annotations['io.kubernetes.cri-o.Devices']",
			"value": "io.kubernetes.cri-o.Devices",
		},
		{"path": "metadata.annotations['devices.crio.io']", "value": "devices.crio.io"},
		{
			"path": "metadata.annotations['seccomp-profile.crio.io/POD']",
			"value": "seccomp-profile.crio.io/POD",
		},
		{
			"path": "metadata.annotations['unified-cgroup.crio.io.trainer']",
			"value": "unified-cgroup.crio.io.trainer",
		},
		{
			"path": "metadata.annotations['seccomp-profile.kubernetes.cri-o.io/trainer']",
			"value": "seccomp-profile.kubernetes.cri-o.io/trainer",
		},
		{
			"path": "metadata.annotations['irq-load-balancing.crio.io']",
			"value": "irq-load-balancing.crio.io",
		},
	} with input as {
		"annotations": {
			"io.kubernetes.cri-o.Devices": "",
			"devices.crio.io": "",
			"seccomp-profile.crio.io/POD": "",
			"unified-cgroup.crio.io.trainer": "",
			"seccomp-profile.kubernetes.cri-o.io/trainer": "",
			"irq-load-balancing.crio.io": "",
		},
	}
}

test_refused_runc_and_crun if {
	annotations.deny == {
		{"path": "metadata.annotations['run.oci.hooks.stderr']", "value": "run.oci.hooks.stderr"},
		{
			"path": "metadata.annotations['org.systemd.property.DeviceAllow']",
			"value": "org.systemd.property.DeviceAllow",
		},
		{"path": "metadata.annotations['org.criu.config']", "value": "org.criu.config"},
		{
			"path": "metadata.annotations['module.wasm.image/variant']",
			"value": "module.wasm.image/variant",
		},
		{
			"path": "metadata.annotations['io.containers.trace-syscall']",
			"value": "io.containers.trace-syscall",
		},
	} with input as {
		"annotations": {
			"run.oci.hooks.stderr": "",
			"org.systemd.property.DeviceAllow": "",
			"org.criu.config": "",
			"module.wasm.image/variant": "",
			"io.containers.trace-syscall": "",
		},
	}
}

test_refused_containerd if {
	annotations.deny == {
		{
			"path": "metadata.annotations['io.containerd.runc.v2.group']",
			"value": "io.containerd.runc.v2.group",
		},
		{
			"path": "metadata.annotations['io.kubernetes.cri.rdt-class']",
			"value": "io.kubernetes.cri.rdt-class",
		},
	} with input as {
		"annotations": {"io.containerd.runc.v2.group": "", "io.kubernetes.cri.rdt-class": ""},
	}
}

test_refused_devices if {
	annotations.deny == {
		{"path": "metadata.annotations['cdi.k8s.io/gpu']", "value": "cdi.k8s.io/gpu"},
		{
			"path": "metadata.annotations['devices.nri.io/container.trainer']",
			"value": "devices.nri.io/container.trainer",
		},
		{
			"path": "metadata.annotations['devices.noderesource.dev/container.trainer']",
			"value": "devices.noderesource.dev/container.trainer",
		},
		{
			"path": "metadata.annotations['netdevices.nri.containerd.io/pod']",
			"value": "netdevices.nri.containerd.io/pod",
		},
	} with input as {
		"annotations": {
			"cdi.k8s.io/gpu": "",
			"devices.nri.io/container.trainer": "",
			"devices.noderesource.dev/container.trainer": "",
			"netdevices.nri.containerd.io/pod": "",
		},
	}
}

test_refused_whole_domain if {
	annotations.deny == {
		{"path": "metadata.annotations['nri.io/a']", "value": "nri.io/a"},
		{"path": "metadata.annotations['crio.io/a']", "value": "crio.io/a"},
	} with input as {"annotations": {"nri.io/a": "", "crio.io/a": ""}}
}

test_admitted_none if {
	annotations.deny == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_volumes_of_gvisor if {
	annotations.deny == set() with input as {
		"annotations": {
			"dev.gvisor.spec.mount.scratch.share": "",
			"dev.gvisor.spec.mount.scratch.type": "",
			"dev.gvisor.spec.mount.scratch.options": "",
			"dev.gvisor.empty-dir.scratch.force-shared": "",
		},
	}
}

test_admitted_others if {
	annotations.deny == set() with input as {
		"annotations": {
			"example.com/dev.gvisor.flag.debug": "",
			"xcrio.io/a": "",
			"anri.io/a": "",
			"scheduler.alpha.kubernetes.io/critical-pod": "",
		},
	}
}

test_refused_windows if {
	annotations.deny == {
		{
			"path": "metadata.annotations['io.microsoft.virtualmachine.lcow.bootfilesrootpath']",
			"value": "io.microsoft.virtualmachine.lcow.bootfilesrootpath",
		},
		{
			"path": "metadata.annotations['io.microsoft.container.wcow.deviceextensions']",
			"value": "io.microsoft.container.wcow.deviceextensions",
		},
		{
			"path": "metadata.annotations['microsoft.com/hostprocess-container']",
			"value": "microsoft.com/hostprocess-container",
		},
	} with input as {
		"annotations": {
			"io.microsoft.virtualmachine.lcow.bootfilesrootpath": "",
			"io.microsoft.container.wcow.deviceextensions": "",
			"microsoft.com/hostprocess-container": "",
		},
	}
}

test_admitted_places_of_dumps if {
	annotations.deny == set() with input as {
		"annotations": {
			"io.microsoft.container.processdumplocation": "",
			"io.microsoft.wcow.processdumptype": "",
			"io.microsoft.wcow.processdumpcount": "",
		},
	}
}
