package sallyport.privileges.storage.driver_test

import data.sallyport.privileges.storage.driver

test_refused_driver if {
	driver.needs == {{"privilege": "csi-driver/a", "path": "metadata.name"}} with input as {
		"containers": [],
		"object": {"kind": "CSIDriver", "name": "a"},
	}
}

test_refused_no_name if {
	driver.needs == {{"privilege": "csi-driver/%00", "path": "metadata.name"}} with input as {
		"containers": [],
		"object": {"kind": "CSIDriver"},
	}
}

test_admitted_pod if {
	driver.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_kind if {
	driver.needs == set() with input as {
		"containers": [],
		"object": {"kind": "StorageClass", "name": "a"},
	}
}
