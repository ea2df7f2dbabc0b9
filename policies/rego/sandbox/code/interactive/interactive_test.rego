package sallyport.sandbox.code.interactive_test

import data.sallyport.sandbox.code.interactive

test_riskier_terminal if {
	interactive.signals == {{"path": "spec.containers[0].tty", "value": "tty", "container": "a"}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
				"interactive": true,
			},
		],
	}
}

test_ordinary_none if {
	interactive.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
	}
}
