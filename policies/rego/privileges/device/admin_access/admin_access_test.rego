package sallyport.privileges.device.admin_access_test

import data.sallyport.privileges.device.admin_access

test_refused_true if {
	admin_access.needs == {{
		"privilege": "device/admin-access",
		"path": "spec.devices.requests[0].exactly.adminAccess",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "ResourceClaim",
			"name": "a",
			"requests": [{
				"path": "spec.devices.requests[0].exactly.adminAccess",
				"adminAccess": true,
			}],
		},
	}
}

test_admitted_none if {
	admin_access.needs == set() with input as {
		"containers": [],
		"object": {"kind": "ResourceClaim", "name": "a"},
	}
}

test_admitted_false if {
	admin_access.needs == set() with input as {
		"containers": [],
		"object": {
			"kind": "ResourceClaim",
			"name": "a",
			"requests": [{
				"path": "spec.devices.requests[0].exactly.adminAccess",
				"adminAccess": false,
			}],
		},
	}
}

test_admitted_pod if {
	admin_access.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
