package sallyport.sandbox.actor.debug_test

import data.sallyport.sandbox.actor.debug

test_riskier_ephemeral if {
	debug.signals == {{
		"path": "spec.ephemeralContainers[0]",
		"value": "look",
		"container": "look",
	}} with input as {"containers": [
		{
			"path": "spec.containers[0]",
			"name": "a",
			"kind": "container",
		},
		{
			"path": "spec.ephemeralContainers[0]",
			"name": "look",
			"kind": "ephemeral",
		},
	]}
}

test_ordinary_others if {
	debug.signals == set() with input as {"containers": [
		{
			"path": "spec.containers[0]",
			"name": "a",
			"kind": "container",
		},
		{
			"path": "spec.initContainers[0]",
			"name": "b",
			"kind": "init",
		},
	]}
}
