package sallyport.sandbox.behaviour.create_burst_test

import data.sallyport.sandbox.behaviour.create_burst

test_riskier_among_others if {
	create_burst.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"create-burst",
	]}}
}

test_ordinary_other if {
	create_burst.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	create_burst.signals == set() with input as {"context": {"behaviour": []}}
}
