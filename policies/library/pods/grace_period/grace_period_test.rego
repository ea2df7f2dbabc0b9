package sallyport.rules.pods.grace_period_test

import data.sallyport.rules.pods.grace_period

test_refused_too_long if {
	found({"spec": {"terminationGracePeriodSeconds": 101}}) == {{
		"path": "spec.terminationGracePeriodSeconds",
		"value": "101",
	}}
}

test_refused_of_another_type if {
	every seconds in ["5", true, [5], {"a": 5}, -1] {
		count(found({"spec": {"terminationGracePeriodSeconds": seconds}})) == 1
	}
}

test_admitted_absent if {
	found({}) == set()
	found({"spec": {}}) == set()
}

test_admitted_within if {
	every seconds in [0, 1, 100] {
		found({"spec": {"terminationGracePeriodSeconds": seconds}}) == set()
	}
}

found(fields) := denials if {
	denials := grace_period.deny with input.fields as fields
		with data.sallyport.parameters.pods.grace_period as {"maxSeconds": 100}
}
