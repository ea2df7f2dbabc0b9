package sallyport.rules.pods.service_account_test

import data.sallyport.rules.pods.service_account

test_refused_absent if {
	every fields in [{}, {"spec": {}}, {"spec": {"serviceAccountName": "", "serviceAccount": ""}}] {
		found(fields) == {{"path": "spec.serviceAccountName", "value": "default"}}
	}
}

test_refused_by_either_name if {
	found({"spec": {"serviceAccountName": "shared", "serviceAccount": "default"}}) == {
		{"path": "spec.serviceAccountName", "value": "shared"},
		{"path": "spec.serviceAccount", "value": "default"},
	}
}

test_refused_of_another_type if {
	found({"spec": {"serviceAccountName": 5}}) == {{"path": "spec.serviceAccountName", "value": "5"}}
}

test_admitted_own if {
	found({"spec": {"serviceAccountName": "trainer"}}) == set()
	found({"spec": {"serviceAccount": "trainer"}}) == set()
}

test_admitted_default_where_it_may if {
	service_account.deny == set() with input.fields as {}
		with data.sallyport.parameters.pods.service_account as {"accounts": ["shared"]}
}

found(fields) := denials if {
	denials := service_account.deny with input.fields as fields
		with data.sallyport.parameters.pods.service_account as {"accounts": ["default", "shared"]}
}
