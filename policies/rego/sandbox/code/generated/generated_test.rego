package sallyport.sandbox.code.generated_test

import data.sallyport.sandbox.code.generated

test_riskier_label if {
	generated.signals == {{"path": "metadata.labels[app]", "value": "code-interpreter"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "generated",
				"word": "code-interpreter",
			},
		],
	}
}

test_riskier_image if {
	generated.signals == {{"path": "spec.containers[0].image", "value": "code-interpreter", "container": "a"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "spec.containers[0].image",
				"kind": "generated",
				"word": "code-interpreter",
				"container": "a",
			},
		],
	}
}

test_ordinary_other_hint if {
	generated.signals == set() with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "notebook",
				"word": "x",
			},
		],
	}
}

test_ordinary_nothing if {
	generated.signals == set() with input as {"containers": []}
}
