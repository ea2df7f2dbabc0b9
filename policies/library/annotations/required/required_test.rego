package sallyport.rules.annotations.required_test

import data.sallyport.rules.annotations.required

test_refused_absent if {
	missing := {{"path": "metadata.annotations", "value": "team"}, {"path": "metadata.annotations", "value": "stage"}}
	found("Pod", {}) == missing
	found("Pod", {"metadata": {}}) == missing
	found("Pod", {"metadata": {"annotations": {}}}) == missing
	found("Pod", {"metadata": {"annotations": {"teams": "a", "Stage": "dev"}}}) == missing
}

test_refused_empty_and_of_another_type if {
	some value in ["", 5, {"a": "b"}, ["a"]]
	found("Pod", {"metadata": {"annotations": {"team": value, "stage": "dev"}}}) == {{
		"path": "metadata.annotations",
		"value": "team",
	}}
}

test_refused_annotations_of_another_type if {
	every annotations in ["team", 5, ["team"]] {
		count(found("Pod", {"metadata": {"annotations": annotations}})) == 2
	}
}

test_refused_not_the_pattern if {
	every value in ["production", "predev", "dev\n", "Dev"] {
		found("Pod", {"metadata": {"annotations": {"team": "a", "stage": value}}}) == {{
			"path": "metadata.annotations['stage']",
			"value": "stage",
			"message": "has an annotation stage that does not match dev|test",
		}}
	}
}

test_refused_by_a_pattern_that_is_none if {
	annotations := [{"key": "team", "pattern": "("}]
	count(required.deny) == 1 with input as {"kind": "Pod", "fields": {"metadata": {"annotations": {"team": "a"}}}}
		with data.sallyport.parameters.annotations.required as {"kinds": ["Pod"], "annotations": annotations}
}

test_admitted_all if {
	found("Pod", {"metadata": {"annotations": {"team": "a", "stage": "test", "more": ""}}}) == set()
}

test_admitted_other_kind if found("Service", {}) == set()

found(kind, fields) := denials if {
	parameters := {"kinds": ["Pod"], "annotations": [{"key": "team"}, {"key": "stage", "pattern": "dev|test"}]}
	denials := required.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.annotations.required as parameters
}
