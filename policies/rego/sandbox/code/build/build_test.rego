package sallyport.sandbox.code.build_test

import data.sallyport.sandbox.code.build

test_riskier_label if {
	build.signals == {{"path": "metadata.labels[app]", "value": "kaniko"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "build",
				"word": "kaniko",
			},
		],
	}
}

test_riskier_image if {
	build.signals == {{"path": "spec.containers[0].image", "value": "kaniko", "container": "a"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "spec.containers[0].image",
				"kind": "build",
				"word": "kaniko",
				"container": "a",
			},
		],
	}
}

test_ordinary_other_hint if {
	build.signals == set() with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "environment",
				"word": "x",
			},
		],
	}
}

test_ordinary_nothing if {
	build.signals == set() with input as {"containers": []}
}
