package sallyport.sandbox.code.installs_test

import data.sallyport.sandbox.code.installs

test_riskier_each_tool if {
	installs.signals == {
		{"path": "spec.containers[0]", "value": "apt", "container": "a"},
		{"path": "spec.containers[0]", "value": "pip", "container": "a"},
	} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"installs": [
					"apt",
					"pip",
				],
			},
		],
	}
}

test_ordinary_none if {
	installs.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
	}
}
