package sallyport.privileges.device.config_test

import data.sallyport.privileges.device.config

test_refused_driver if {
	config.needs == {{
		"privilege": "device/config/gpu.nvidia.com",
		"path": "spec.devices.config[0].opaque",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "ResourceClaim",
			"name": "a",
			"configs": [{"path": "spec.devices.config[0].opaque", "driver": "gpu.nvidia.com"}],
		},
	}
}

test_refused_no_driver if {
	config.needs == {{
		"privilege": "device/config/%00",
		"path": "spec.devices.config[0].opaque",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "DeviceClass",
			"name": "a",
			"configs": [{"path": "spec.devices.config[0].opaque"}],
		},
	}
}

test_admitted_none if {
	config.needs == set() with input as {
		"containers": [],
		"object": {"kind": "ResourceClaim", "name": "a"},
	}
}

test_admitted_pod if {
	config.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
