package sallyport.sandbox.actor.new_service_account_test

import data.sallyport.sandbox.actor.new_service_account

test_riskier_new if {
	new_service_account.signals == {{
		"path": "spec.serviceAccountName",
		"value": "",
	}} with input as {"context": {"newServiceAccount": true}}
}

test_ordinary_old if {
	new_service_account.signals == set() with input as {"context": {"newServiceAccount": false}}
}
