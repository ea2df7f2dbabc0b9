package sallyport.rules.priority.by_namespace_test

import data.sallyport.rules.priority.by_namespace

test_refused_others if {
	every class in ["urgent", "team", "lo", "LOW"] {
		found({"priorityClass": class}, false) == {{"path": "spec.priorityClassName", "value": class}}
	}
}

test_refused_unset if {
	found({}, false) == {{
		"path": "spec.priorityClassName",
		"value": "",
		"message": "names no priority class",
	}}
}

test_admitted_of_the_namespace if {
	found({"priorityClass": "batch"}, false) == set()
	found({"priorityClass": "low"}, false) == set()
}

test_admitted_unset if found({}, true) == set()

found(projection, unset) := denials if {
	classes := [
		{"names": ["low"]},
		{"namespaces": ["other", "res*"], "names": ["batch"]},
		{"namespaces": ["team-*"], "names": ["team"]},
	]
	denials := by_namespace.deny with input as {"context": {"namespace": "research"}, "projection": projection}
		with data.sallyport.parameters.priority.by_namespace as {"classes": classes, "unset": unset}
}
