package sallyport.judge_test

import data.sallyport.judge

nothing := {
	"operation": "CREATE",
	"subresource": "",
	"requester": "human",
	"groups": [],
	"namespaceLabels": {},
	"newServiceAccount": false,
	"services": [],
	"risk": {"requester": "", "author": "", "workload": ""},
	"behaviour": [],
	"absent": ["egress", "risk", "weights"],
}

test_an_ordinary_request_has_no_signals if {
	judge.answer == {"absent": 3, "signals": {}} with input as {"context": nothing}
}

test_signals_come_by_rule if {
	judge.answer == {"absent": 3, "signals": {
		"actor/new_service_account": {{"path": "spec.serviceAccountName", "value": ""}},
		"exposure/service": {{"path": "metadata.labels", "value": "web"}},
	}} with input as {"context": object.union(nothing, {
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
	judge.answer == {"absent": 3, "signals": {
		"acme/x": {{"path": "spec", "value": "y"}},
		"exposure/service": {{"path": "metadata.labels", "value": "web"}},
	}} with input as {"context": object.union(nothing, {"services": ["web"]})}
		with data.sallyport.site.signals as {"acme/x": {{"path": "spec", "value": "y"}}}
}
