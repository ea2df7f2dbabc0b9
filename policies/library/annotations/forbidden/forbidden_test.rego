package sallyport.rules.annotations.forbidden_test

import data.sallyport.rules.annotations.forbidden

test_refused_by_name_and_pattern if {
	every key in ["example.com/a", "example.com/", "example.com/a/b", "b.example.org/x"] {
		found("Pod", {"metadata": {"annotations": {key: "", "fine": "x"}}}) == {{
			"path": concat("", ["metadata.annotations['", key, "']"]),
			"value": key,
		}}
	}
}

test_refused_by_value if {
	every value in ["false", "no", 5, true, ["yes"], {"a": "yes"}] {
		found("Pod", {"metadata": {"annotations": {"safe": value}}}) == {{
			"path": "metadata.annotations['safe']",
			"value": "safe",
		}}
	}
}

test_refused_by_a_pattern_that_is_none if {
	denials := forbidden.deny with input as {"kind": "Pod", "fields": {"metadata": {"annotations": {"a": "b"}}}}
		with data.sallyport.parameters.annotations.forbidden as {"kinds": ["Pod"], "annotations": [{"key": "a", "pattern": "("}]}
	count(denials) == 1
}

test_admitted_others if {
	every key in ["example.org/a", "a.example.com", "examplexcom/a"] {
		found("Pod", {"metadata": {"annotations": {key: ""}}}) == set()
	}
	found("Pod", {}) == set()
}

test_admitted_value if found("Pod", {"metadata": {"annotations": {"safe": "falsely"}}}) == set()

test_admitted_other_kind if found("Service", {"metadata": {"annotations": {"example.com/a": ""}}}) == set()

found(kind, fields) := denials if {
	annotations := [
		{"key": "example.com/*"},
		{"key": "b.example.org/x"},
		{"key": "safe", "pattern": "false|no"},
	]
	denials := forbidden.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.annotations.forbidden as {"kinds": ["Pod"], "annotations": annotations}
}
