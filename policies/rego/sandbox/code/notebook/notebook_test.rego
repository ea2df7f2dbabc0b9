package sallyport.sandbox.code.notebook_test

import data.sallyport.sandbox.code.notebook

test_riskier_label if {
	notebook.signals == {{"path": "metadata.labels[app]", "value": "jupyter"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "notebook",
				"word": "jupyter",
			},
		],
	}
}

test_riskier_image if {
	notebook.signals == {{"path": "spec.containers[0].image", "value": "jupyter", "container": "a"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "spec.containers[0].image",
				"kind": "notebook",
				"word": "jupyter",
				"container": "a",
			},
		],
	}
}

test_ordinary_other_hint if {
	notebook.signals == set() with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "build",
				"word": "x",
			},
		],
	}
}

test_ordinary_nothing if {
	notebook.signals == set() with input as {"containers": []}
}
