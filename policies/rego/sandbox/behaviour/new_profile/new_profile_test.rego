package sallyport.sandbox.behaviour.new_profile_test

import data.sallyport.sandbox.behaviour.new_profile

test_riskier_among_others if {
	new_profile.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"new-profile",
	]}}
}

test_ordinary_other if {
	new_profile.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	new_profile.signals == set() with input as {"context": {"behaviour": []}}
}
