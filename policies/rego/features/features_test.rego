package sallyport.features_test

import data.sallyport.features

test_host_namespaces if {
	features.features == {
		{"name": "host-network", "path": "spec.hostNetwork"},
		{"name": "host-pid", "path": "spec.hostPID"},
		{"name": "host-ipc", "path": "spec.hostIPC"},
	} with input as {
		"containers": [],
		"hostNetwork": true,
		"hostPID": true,
		"hostIPC": true,
	}
}

test_windows if {
	features.features == {{"name": "windows", "path": "spec.os.name"}} with input as {
		"containers": [],
		"os": "windows",
	}
}

test_claims if {
	features.features == {{"name": "device", "path": "spec.resourceClaims"}} with input as {
		"containers": [],
		"resourceClaims": true,
	}
}

test_of_the_pods_context if {
	features.features == {
		{"name": "selinux", "path": "spec.securityContext.seLinuxOptions"},
		{"name": "apparmor", "path": "spec.securityContext.appArmorProfile"},
	} with input as {
		"containers": [],
		"securityContext": {
			"seLinuxOptions": {},
			"appArmorProfile": {
				"type": "Localhost",
			},
		},
	}
}

test_of_a_containers_context if {
	features.features == {
		{"name": "privileged", "path": "spec.containers[0].securityContext.privileged", "container": "a"},
		{"name": "selinux", "path": "spec.containers[0].securityContext.seLinuxOptions", "container": "a"},
		{"name": "apparmor", "path": "spec.containers[0].securityContext.appArmorProfile", "container": "a"},
	} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"securityContext": {
					"privileged": true,
					"seLinuxOptions": {
						"type": "t",
					},
					"appArmorProfile": {
						"type": "Localhost",
					},
				},
			},
		],
	}
}

test_apparmor_by_annotation if {
	features.features == {{"name": "apparmor", "path": "metadata.annotations['container.apparmor.security.beta.kubernetes.io/a']"}} with input as {
		"containers": [],
		"annotations": {
			"container.apparmor.security.beta.kubernetes.io/a": "localhost/x",
			"container.apparmor.security.beta.kubernetes.io/b": "runtime/default",
		},
	}
}

test_writable_host_path if {
	features.features == {
		{"name": "host-path-writable", "path": "spec.volumes[0].hostPath"},
		{"name": "host-path-writable", "path": "spec.volumes[2].persistentVolumeClaim"},
	} with input as {
		"containers": [],
		"volumes": [
			{
				"path": "spec.volumes[0]",
				"types": [
					"hostPath",
				],
				"hostPath": {
					"path": "/x",
				},
			},
			{
				"path": "spec.volumes[1]",
				"types": [
					"hostPath",
				],
				"hostPath": {
					"path": "/x",
					"readOnly": true,
				},
			},
			{
				"path": "spec.volumes[2].persistentVolumeClaim",
				"types": [
					"hostPath",
				],
				"hostPath": {
					"path": "/var/log",
				},
			},
		],
	}
}

test_block_volume if {
	features.features == {{"name": "block-volume", "path": "p", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"blockDevices": [
					"p",
				],
			},
		],
	}
}

test_hugepages_of_the_pod if {
	features.features == {{"name": "hugepages", "path": "spec.resources.limits['hugepages-2Mi']"}} with input as {
		"containers": [],
		"resources": [
			"hugepages-2Mi",
		],
	}
}

test_each_resource_is_one_feature if {
	cases := {
		"nvidia.com/gpu": "gpu",
		"nvidia.com/gpu.shared": "gpu",
		"nvidia.com/mig-1g.5gb": "mig",
		"nvidia.com/mig-1g.5gb.shared": "mig",
		"hugepages-1Gi": "hugepages",
		"rdma/hca_shared": "rdma",
		"rdma/ib": "rdma",
		"mellanox.com/cx6": "rdma",
		"nvidia.com/hostdev": "rdma",
		"vpc.amazonaws.com/efa": "rdma",
		"example.com/roce": "rdma",
		"amd.com/gpu": "device",
		"devices.kubevirt.io/kvm": "device",
		"google.com/tpu": "device",
		"nvidia.com/gpumem": "device",
	}
	every name, feature in cases {
		features.features == {{
			"name": feature,
			"path": concat("", ["spec.containers[0].resources.limits['", name, "']"]),
			"container": "a",
		}} with input as {"containers": [{
			"path": "spec.containers[0]",
			"name": "a",
			"resources": [name],
		}]}
	}
}

test_what_needs_nothing_of_a_sandbox_is_none if {
	features.features == set() with input as {
		"os": "linux",
		"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "a",
			"resources": ["vpc.amazonaws.com/pod-eni", "networking.gke.io.networks/a"],
		}],
	}
}

test_of_the_pods_users_and_kernel if {
	features.features == {
		{"name": "user-namespace", "path": "spec.hostUsers"},
		{"name": "seccomp", "path": "spec.securityContext.seccompProfile"},
		{"name": "sysctl", "path": "spec.securityContext.sysctls[1]"},
	} with input as {
		"hostUsers": false,
		"containers": [],
		"securityContext": {
			"seccompProfile": {"type": "Localhost", "localhostProfile": "own.json"},
			"sysctls": [
				{"name": "net.ipv6.conf.all.disable_ipv6"},
				{"name": "net.ipv4.tcp_syncookies"},
			],
		},
	}
}

test_of_a_containers_kernel_and_mounts if {
	features.features == {
		{"name": "seccomp", "path": "spec.containers[0].securityContext.seccompProfile", "container": "a"},
		{"name": "raw-network", "path": "spec.containers[0].securityContext.capabilities.add[1]", "container": "a"},
		{"name": "raw-network", "path": "spec.containers[0].securityContext.capabilities.add[2]", "container": "a"},
		{"name": "raw-network", "path": "spec.containers[0].securityContext.capabilities.add[3]", "container": "a"},
		{"name": "recursive-read-only", "path": "p", "container": "a"},
	} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "a",
		"recursiveReadOnly": ["p"],
		"securityContext": {
			"seccompProfile": {"type": "Localhost"},
			"capabilities": {"add": ["NET_ADMIN", "NET_RAW", "cap_net_raw", "ALL"]},
		},
	}]}
}

test_sockets_of_the_node_however_they_are_mounted if {
	every path in {
		"/",
		"",
		"//./",
		"/run",
		"/var/run/",
		"/var",
		"/run/docker.sock",
		"/var/run/docker.sock",
		"/run/containerd",
		"/var/run/containerd/containerd.sock",
		"/run//containerd/./s",
		"/run/crio/crio.sock",
		"/run/k3s/containerd",
		"/var/lib/kubelet",
		"/var/lib/kubelet/pod-resources",
		"/var/lib/kubelet/device-plugins/kubelet.sock",
		"/var/lib/kubelet/plugins/disk.csi.azure.com/csi.sock",
		"/dev/log",
		"/run/spire/agent.sock",
		"/run/nvidia-persistenced/socket",
		"/var/log/../run",
		"../run",
		"/proc/1/root/run/containerd",
	} {
		mounted(path, true) == {{"name": "host-socket", "path": "spec.volumes[0].hostPath"}}
		mounted(path, false) == {{"name": "host-socket", "path": "spec.volumes[0].hostPath"}}
	}
	{{"name": "host-socket", "path": "spec.volumes[0].hostPath"}} == features.features with input as {
		"containers": [],
		"volumes": [{"path": "spec.volumes[0]", "types": ["hostPath"]}],
	}
}

test_devices_of_the_node_however_they_are_mounted if {
	every path in {"/dev", "/dev/fuse", "/dev/infiniband", "/dev/nvidia0"} {
		mounted(path, true) == {{"name": "device", "path": "spec.volumes[0].hostPath"}}
		mounted(path, false) == {{"name": "device", "path": "spec.volumes[0].hostPath"}}
	}
}

test_other_paths_of_the_node_count_only_writable if {
	every path in {
		"/var/log",
		"/run/udev",
		"/runner",
		"/run/containerd-logs",
		"/var/lib/kubelet/pods",
		"/var/lib/docker",
		"/dev/shm",
		"/proc",
		"/proc/sys",
		"/data/socket.txt",
		"/etc/..hidden",
	} {
		mounted(path, true) == set()
		mounted(path, false) == {{"name": "host-path-writable", "path": "spec.volumes[0].hostPath"}}
	}
}

mounted(path, read_only) := found if {
	found := features.features with input as {
		"containers": [],
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": path, "readOnly": read_only},
		}],
	}
}
