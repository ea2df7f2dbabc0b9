package sallyport.sandbox.identity.token_test

import data.sallyport.sandbox.identity.token

test_riskier_default if {
	token.signals == {{"path": "spec.automountServiceAccountToken", "value": ""}} with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
	}
}

test_ordinary_none if {
	token.signals == set() with input as {
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "a",
			},
		],
		"automount": false,
	}
}
