package sallyport.sandbox.identity.low_risk_test

import data.sallyport.sandbox.identity.low_risk

of(requester, author, workload) := {"context": {"risk": {
	"requester": requester,
	"author": author,
	"workload": workload,
}}}

test_riskier_requester if {
	low_risk.signals == {{"path": "", "value": "low (requester)"}} with input as of("low", "", "")
}

test_riskier_author if {
	low_risk.signals == {{"path": "", "value": "low (author)"}} with input as of("", "low", "")
}

test_riskier_workload if {
	low_risk.signals == {{"path": "", "value": "low (workload)"}} with input as of("", "", "low")
}

test_riskier_each_is_named if {
	low_risk.signals == {
		{"path": "", "value": "low (author)"},
		{"path": "", "value": "low (workload)"},
	} with input as of("clean", "low", "low")
}

test_ordinary_none if {
	low_risk.signals == set() with input as of("", "", "")
}

test_ordinary_clean if {
	low_risk.signals == set() with input as of("clean", "clean", "clean")
}

test_ordinary_not_known if {
	low_risk.signals == set() with input as of("guest", "stale", "hidden")
}

test_ordinary_put_right if {
	low_risk.signals == set() with input as of("dismissed", "remediated", "managed-identity")
}
