package sallyport.rules.replicas.bounds_test

import data.sallyport.rules.replicas.bounds

test_refused_outside if {
	found({"spec": {"replicas": 11}}) == {{"path": "spec.replicas", "value": "11"}}
	found({"spec": {"replicas": 1}}) == {{"path": "spec.replicas", "value": "1"}}
}

test_refused_absent if {
	every fields in [{}, {"spec": {}}] {
		found(fields) == {{"path": "spec.replicas", "value": "1"}}
	}
}

test_refused_of_another_type if {
	every replicas in ["5", true, [5], {"a": 5}] {
		count(found({"spec": {"replicas": replicas}})) == 1
	}
}

test_admitted_inside if {
	every replicas in [2, 5, 10] {
		found({"spec": {"replicas": replicas}}) == set()
	}
}

found(fields) := denials if {
	denials := bounds.deny with input.fields as fields
		with data.sallyport.parameters.replicas.bounds as {"min": 2, "max": 10}
}
