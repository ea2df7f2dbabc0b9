package sallyport.sandbox.behaviour.new_namespace_test

import data.sallyport.sandbox.behaviour.new_namespace

test_riskier_among_others if {
	new_namespace.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-cluster",
		"new-namespace",
	]}}
}

test_ordinary_other if {
	new_namespace.signals == set() with input as {"context": {"behaviour": ["new-cluster"]}}
}

test_ordinary_nothing if {
	new_namespace.signals == set() with input as {"context": {"behaviour": []}}
}
