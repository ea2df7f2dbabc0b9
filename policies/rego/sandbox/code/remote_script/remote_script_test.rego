package sallyport.sandbox.code.remote_script_test

import data.sallyport.sandbox.code.remote_script

test_riskier_script if {
	remote_script.signals == {{"path": "spec.containers[0]", "value": "curl", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"scripts": [
					"curl",
				],
			},
		],
	}
}

test_ordinary_installs if {
	remote_script.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"installs": [
					"pip",
				],
			},
		],
	}
}
