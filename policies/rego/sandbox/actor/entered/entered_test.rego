package sallyport.sandbox.actor.entered_test

import data.sallyport.sandbox.actor.entered

test_riskier_exec if {
	entered.signals == {{"path": "", "value": "exec"}} with input as {"context": {
		"operation": "CONNECT",
		"subresource": "exec",
	}}
}

test_riskier_attach if {
	entered.signals == {{"path": "", "value": "attach"}} with input as {"context": {
		"operation": "CONNECT",
		"subresource": "attach",
	}}
}

test_ordinary_forwarded_port if {
	entered.signals == set() with input as {"context": {
		"operation": "CONNECT",
		"subresource": "portforward",
	}}
}

test_ordinary_creation if {
	entered.signals == set() with input as {"context": {
		"operation": "CREATE",
		"subresource": "",
	}}
}
