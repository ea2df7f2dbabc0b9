package sallyport.privileges.storage.provisioner_test

import data.sallyport.privileges.storage.provisioner

test_refused_class if {
	provisioner.needs == {{
		"privilege": "storage-class/kubernetes.io%2Fno-provisioner",
		"path": "provisioner",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "StorageClass",
			"name": "a",
			"provisioner": "kubernetes.io/no-provisioner",
		},
	}
}

test_refused_no_provisioner if {
	provisioner.needs == {{
		"privilege": "storage-class/%00",
		"path": "provisioner",
	}} with input as {"containers": [], "object": {"kind": "StorageClass", "name": "a"}}
}

test_admitted_pod if {
	provisioner.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_kind if {
	provisioner.needs == set() with input as {
		"containers": [],
		"object": {"kind": "CSIDriver", "name": "a"},
	}
}
