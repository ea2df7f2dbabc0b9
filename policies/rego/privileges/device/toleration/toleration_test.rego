package sallyport.privileges.device.toleration_test

import data.sallyport.privileges.device.toleration

path := "spec.devices.requests[0].exactly.tolerations[0]"

test_refused_key if {
	toleration.needs == {{
		"privilege": "device/tolerate/gpu.example%2Freserved",
		"path": path,
	}} with input as {
		"containers": [],
		"object": {
			"kind": "ResourceClaim",
			"name": "a",
			"tolerations": [{"path": path, "key": "gpu.example/reserved", "operator": "Exists"}],
		},
	}
}

test_refused_everything if {
	toleration.needs == {{
		"privilege": "device/tolerate/everything",
		"path": path,
	}} with input as {
		"containers": [],
		"object": {
			"kind": "ResourceClaimTemplate",
			"name": "a",
			"tolerations": [{"path": path, "operator": "Exists"}],
		},
	}
}

test_admitted_none if {
	toleration.needs == set() with input as {
		"containers": [],
		"object": {"kind": "ResourceClaim", "name": "a"},
	}
}

test_admitted_toleration_of_a_pod if {
	toleration.needs == set() with input as {
		"containers": [],
		"tolerations": [{"path": "spec.tolerations[0]", "operator": "Exists"}],
	}
}
