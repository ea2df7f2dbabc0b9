package sallyport.sandbox.identity.risk_test

import data.sallyport.sandbox.identity.risk

of(requester, author, workload) := {"context": {"risk": {
	"requester": requester,
	"author": author,
	"workload": workload,
}}}

test_riskier_requester if {
	risk.signals == {{"path": "", "value": "medium (requester)"}} with input as of("medium", "", "")
}

test_riskier_author if {
	risk.signals == {{"path": "", "value": "medium (author)"}} with input as of("", "medium", "")
}

test_riskier_workload if {
	risk.signals == {{"path": "", "value": "medium (workload)"}} with input as of("", "", "medium")
}

test_riskier_each_is_named if {
	risk.signals == {
		{"path": "", "value": "medium (author)"},
		{"path": "", "value": "medium (workload)"},
	} with input as of("clean", "medium", "medium")
}

test_ordinary_none if {
	risk.signals == set() with input as of("", "", "")
}

test_ordinary_clean if {
	risk.signals == set() with input as of("clean", "clean", "clean")
}

test_ordinary_not_known if {
	risk.signals == set() with input as of("guest", "stale", "hidden")
}

test_ordinary_put_right if {
	risk.signals == set() with input as of("dismissed", "remediated", "managed-identity")
}
