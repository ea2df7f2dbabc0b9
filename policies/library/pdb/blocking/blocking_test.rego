package sallyport.rules.pdb.blocking_test

import data.sallyport.rules.pdb.blocking

test_refused_max_unavailable if {
	every value in [0, "0", "0%", "00%", "", true, [1], {"a": 1}, -1, "1"] {
		some denial in found({"maxUnavailable": value})
		denial.path == "spec.maxUnavailable"
	}
	found({"maxUnavailable": "0%"}) == {{"path": "spec.maxUnavailable", "value": "0%"}}
}

test_refused_min_available if {
	every value in ["100%", "0100%", "200%", "", "1", true, [1], {"a": 1}] {
		some denial in found({"minAvailable": value})
		denial.path == "spec.minAvailable"
	}
	found({"minAvailable": true}) == {{"path": "spec.minAvailable", "value": "true"}}
}

test_admitted_max_unavailable if {
	every value in [1, 5, "1%", "10%", "100%", "010%"] {
		found({"maxUnavailable": value}) == set()
	}
}

test_admitted_min_available if {
	every value in [0, 1, 5, "0%", "99%", "050%"] {
		found({"minAvailable": value}) == set()
	}
}

test_admitted_neither if found({}) == set()

found(spec) := denials if {
	denials := blocking.deny with input.fields.spec as spec
}
