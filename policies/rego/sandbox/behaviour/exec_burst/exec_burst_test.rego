package sallyport.sandbox.behaviour.exec_burst_test

import data.sallyport.sandbox.behaviour.exec_burst

test_riskier_among_others if {
	exec_burst.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"exec-burst",
	]}}
}

test_ordinary_other if {
	exec_burst.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	exec_burst.signals == set() with input as {"context": {"behaviour": []}}
}
