package sallyport.rules.hpa.bounds_test

import data.sallyport.rules.hpa.bounds

test_refused_outside if {
	found({"spec": {"minReplicas": 2, "maxReplicas": 11}}, 0) == {{"path": "spec.maxReplicas", "value": "11"}}
	found({"spec": {"maxReplicas": 10}}, 0) == {{"path": "spec.minReplicas", "value": "1"}}
}

test_refused_absent if {
	every fields in [{}, {"spec": {}}] {
		found(fields, 0) == {
			{"path": "spec.minReplicas", "value": "1"},
			{"path": "spec.maxReplicas", "value": "unset"},
		}
	}
}

test_refused_of_another_type if {
	every value in ["5", true, [5], {"a": 5}] {
		count(found({"spec": {"minReplicas": value, "maxReplicas": value}}, 0)) == 2
	}
}

test_refused_without_room if {
	every most in [2, 5, 6] {
		found({"spec": {"minReplicas": 5, "maxReplicas": most}}, 2) == {{
			"path": "spec.maxReplicas",
			"value": "",
			"message": "leaves itself too little room between minReplicas and maxReplicas",
		}}
	}
}

test_admitted_inside if {
	found({"spec": {"minReplicas": 2, "maxReplicas": 10}}, 2) == set()
	found({"spec": {"minReplicas": 5, "maxReplicas": 5}}, 0) == set()
}

found(fields, spread) := denials if {
	denials := bounds.deny with input.fields as fields
		with data.sallyport.parameters.hpa.bounds as {"min": 2, "max": 10, "spread": spread}
}
