package sallyport.rules.labels.owner_test

import data.sallyport.rules.labels.owner

nobody := {{"path": "metadata.labels", "value": "owner or team"}}

test_refused_absent if {
	found("Pod", {}) == nobody
	found("Pod", {"metadata": {"labels": {}, "annotations": {}}}) == nobody
}

test_refused_not_the_pattern if {
	every value in ["", "a", "-", "two words", 5, ["a"]] {
		found("Pod", {"metadata": {"labels": {"owner": value}}}) == nobody
	}
}

test_refused_other_keys if found("Pod", {"metadata": {"labels": {"Owner": "team-a"}}}) == nobody

test_admitted_label if found("Pod", {"metadata": {"labels": {"team": "language"}}}) == set()

test_admitted_annotation if {
	found("Pod", {"metadata": {"annotations": {"owner": "a@example.com"}}}) == set()
}

test_admitted_one_of_both if {
	found("Pod", {"metadata": {"labels": {"team": "", "owner": "language"}}}) == set()
}

test_admitted_other_kind if found("Service", {}) == set()

found(kind, fields) := denials if {
	parameters := {"kinds": ["Pod"], "keys": ["owner", "team"], "pattern": "[A-Za-z0-9][A-Za-z0-9@._-]+"}
	denials := owner.deny with input as {"kind": kind, "fields": fields}
		with data.sallyport.parameters.labels.owner as parameters
}
