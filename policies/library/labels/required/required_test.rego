package sallyport.rules.labels.required_test

import data.sallyport.rules.labels.required

test_refused_absent if {
	missing := {{"path": "metadata.labels", "value": "team"}, {"path": "metadata.labels", "value": "stage"}}
	found("Pod", {}) == missing
	found("Pod", {"metadata": {}}) == missing
	found("Pod", {"metadata": {"labels": {}}}) == missing
	found("Pod", {"metadata": {"labels": {"teams": "a", "Stage": "dev"}}}) == missing
}

test_refused_empty_and_of_another_type if {
	some value in ["", 5, {"a": "b"}, ["a"]]
	found("Pod", {"metadata": {"labels": {"team": value, "stage": "dev"}}}) == {{
		"path": "metadata.labels",
		"value": "team",
	}}
}

test_refused_labels_of_another_type if {
	every labels in ["team", 5, ["team"]] {
		count(found("Pod", {"metadata": {"labels": labels}})) == 2
	}
}

test_refused_not_the_pattern if {
	every value in ["production", "predev", "dev\n", "Dev"] {
		found("Pod", {"metadata": {"labels": {"team": "a", "stage": value}}}) == {{
			"path": "metadata.labels['stage']",
			"value": "stage",
			"message": "has a label stage that does not match dev|test",
		}}
	}
}

test_refused_by_a_pattern_that_is_none if {
	labels := [{"key": "team", "pattern": "("}]
	count(required.deny) == 1 with input as {"kind": "Pod", "fields": {"metadata": {"labels": {"team": "a"}}}}
		with data.sallyport.parameters.labels.required as {"kinds": ["Pod"], "labels": labels}
}

test_admitted_all if {
	found("Pod", {"metadata": {"labels": {"team": "a", "stage": "test", "more": ""}}}) == set()
}

test_admitted_other_kind if found("Service", {}) == set()

found(kind, fields) := denials if {
	parameters := {"kinds": ["Pod"], "labels": [{"key": "team"}, {"key": "stage", "pattern": "dev|test"}]}
	denials := required.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.labels.required as parameters
}
