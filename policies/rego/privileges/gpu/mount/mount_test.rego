package sallyport.privileges.gpu.mount_test

import data.sallyport.privileges.gpu.mount

test_refused_mount if {
	mount.needs == {{
		"privilege": "gpu/mount",
		"path": "spec.containers[0].volumeMounts[0].mountPath",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"mounts": [{
				"path": "spec.containers[0].volumeMounts[0].mountPath",
				"mountPath": "/var/run/nvidia-container-devices/all",
			}],
		}],
	}
}

test_admitted_none if {
	mount.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty_list if {
	mount.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "mounts": []}],
	}
}
