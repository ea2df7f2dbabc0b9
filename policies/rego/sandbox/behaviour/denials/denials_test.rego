package sallyport.sandbox.behaviour.denials_test

import data.sallyport.sandbox.behaviour.denials

test_riskier_among_others if {
	denials.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"denials",
	]}}
}

test_ordinary_other if {
	denials.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	denials.signals == set() with input as {"context": {"behaviour": []}}
}
