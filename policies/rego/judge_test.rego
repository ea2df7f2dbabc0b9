package sallyport.judge_test

import data.sallyport.judge

nothing := {
	"operation": "CREATE",
	"subresource": "",
	"namespace": "train",
	"requester": "human",
	"groups": [],
	"namespaceLabels": {},
	"newServiceAccount": false,
	"services": [],
	"risk": {"requester": "", "author": "", "workload": ""},
	"behaviour": [],
	"absent": ["egress", "risk", "weights"],
}

answer(signals) := {"absent": 3, "signals": signals, "denials": {}, "warnings": {}}

test_an_ordinary_request_has_no_signals if {
	judge.answer == answer({}) with input as {"context": nothing}
}

test_signals_come_by_rule if {
	judge.answer == answer({
		"actor/new_service_account": {{"path": "spec.serviceAccountName", "value": ""}},
		"exposure/service": {{"path": "metadata.labels", "value": "web"}},
	}) with input as {"context": object.union(nothing, {
		"newServiceAccount": true,
		"services": ["web"],
	})}
}

test_an_input_that_cannot_be_read_has_no_answer if {
	not judge.answer with input as {}
	not judge.answer with input as {"context": {"operation": "CREATE"}}
	not judge.answer with input as {"context": null}
}

test_signals_of_a_site_that_are_undefined_leave_no_answer if {
	not judge.answer with input as {"context": nothing} with data.sallyport.site as {}
}

test_signals_of_a_site_stand_beside_the_others if {
	judge.answer == answer({
		"acme/x": {{"path": "spec", "value": "y"}},
		"exposure/service": {{"path": "metadata.labels", "value": "web"}},
	}) with input as {"context": object.union(nothing, {"services": ["web"]})}
		with data.sallyport.site.signals as {"acme/x": {{"path": "spec", "value": "y"}}}
}

test_what_rules_of_a_site_find_is_answered if {
	found := {"acme/x": [{"path": "spec", "value": "y"}]}
	said := judge.answer with input as {"context": nothing}
		with data.sallyport.site.denials as found
		with data.sallyport.site.warnings as {"acme/z": []}
	said.denials == found
	said.warnings == {"acme/z": []}
}

test_rules_of_a_site_that_are_undefined_leave_no_answer if {
	not judge.answer with input as {"context": nothing} with data.sallyport.site as {"signals": {}}
}
