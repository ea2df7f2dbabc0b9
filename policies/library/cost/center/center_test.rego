package sallyport.rules.cost.center_test

import data.sallyport.rules.cost.center

test_refused_neither if {
	every fields in [{}, {"metadata": {}}, {"metadata": {"labels": {"cost-center": ""}}}] {
		found("Pod", fields, {}) == {{"path": "metadata.labels", "value": "cost-center"}}
	}
}

test_refused_of_another_type if {
	found("Pod", {"metadata": {"labels": {"cost-center": 100}}}, {}) == {{
		"path": "metadata.labels",
		"value": "cost-center",
	}}
}

test_refused_no_center if {
	found("Pod", labelled("cc-9"), {}) == {{
		"path": "metadata.labels['cost-center']",
		"value": "cc-9",
		"message": "is charged to cc-9, which is no cost center",
	}}
}

test_refused_no_center_of_the_namespace if {
	found("Pod", {}, {"cost-center": "cc-9"}) == {{
		"path": "metadata.labels['cost-center']",
		"value": "cc-9",
		"message": "is charged to cc-9, which is no cost center",
	}}
}

test_refused_anothers if {
	found("Pod", labelled("cc-1"), {"cost-center": "cc-2"}) == {{
		"path": "metadata.labels['cost-center']",
		"value": "cc-1",
		"message": "is charged to cc-1 in a namespace of cc-2",
	}}
}

test_admitted_own if found("Pod", labelled("cc-1"), {}) == set()

test_admitted_of_the_namespace if found("Pod", {}, {"cost-center": "cc-2"}) == set()

test_admitted_both if found("Pod", labelled("cc-1"), {"cost-center": "cc-1"}) == set()

test_admitted_any if {
	center.deny == set() with input as {
		"kind": "Pod",
		"context": {"namespaceLabels": {}},
		"fields": labelled("x"),
	}
		with data.sallyport.parameters.cost.center as {"kinds": ["Pod"], "label": "cost-center", "centers": []}
}

test_admitted_other_kind if found("Service", {}, {}) == set()

labelled(value) := {"metadata": {"labels": {"cost-center": value}}}

found(kind, fields, labels) := denials if {
	parameters := {"kinds": ["Pod"], "label": "cost-center", "centers": ["cc-1", "cc-2"]}
	denials := center.deny with input as {
		"kind": kind,
		"context": {"namespaceLabels": labels},
		"fields": fields,
	}
		with data.sallyport.parameters.cost.center as parameters
}
