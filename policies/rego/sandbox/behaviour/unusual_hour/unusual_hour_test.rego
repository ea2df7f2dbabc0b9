package sallyport.sandbox.behaviour.unusual_hour_test

import data.sallyport.sandbox.behaviour.unusual_hour

test_riskier_among_others if {
	unusual_hour.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"unusual-hour",
	]}}
}

test_ordinary_other if {
	unusual_hour.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	unusual_hour.signals == set() with input as {"context": {"behaviour": []}}
}
