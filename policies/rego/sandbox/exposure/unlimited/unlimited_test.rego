package sallyport.sandbox.exposure.unlimited_test

import data.sallyport.sandbox.exposure.unlimited

test_riskier_both if {
	unlimited.signals == {
		{"path": "spec.containers[0].resources.limits.cpu", "value": "cpu", "container": "a"},
		{"path": "spec.containers[0].resources.limits.memory", "value": "memory", "container": "a"},
	} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"unlimited": [
					"cpu",
					"memory",
				],
			},
		],
	}
}

test_ordinary_limited if {
	unlimited.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
	}
}
