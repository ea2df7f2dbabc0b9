package sallyport.sandbox.code.environment_test

import data.sallyport.sandbox.code.environment

test_riskier_label if {
	environment.signals == {{"path": "metadata.labels[app]", "value": "rl-env"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "environment",
				"word": "rl-env",
			},
		],
	}
}

test_riskier_image if {
	environment.signals == {{"path": "spec.containers[0].image", "value": "rl-env", "container": "a"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "spec.containers[0].image",
				"kind": "environment",
				"word": "rl-env",
				"container": "a",
			},
		],
	}
}

test_ordinary_other_hint if {
	environment.signals == set() with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "generated",
				"word": "x",
			},
		],
	}
}

test_ordinary_nothing if {
	environment.signals == set() with input as {"containers": []}
}
