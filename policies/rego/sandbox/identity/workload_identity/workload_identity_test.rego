package sallyport.sandbox.identity.workload_identity_test

import data.sallyport.sandbox.identity.workload_identity

test_riskier_label if {
	workload_identity.signals == {{"path": "metadata.labels[app]", "value": "azure.workload.identity/use"}} with input as {
		"containers": [],
		"hints": [
			{
				"path": "metadata.labels[app]",
				"kind": "workload-identity",
				"word": "azure.workload.identity/use",
			},
		],
	}
}

test_riskier_token if {
	workload_identity.signals == {{"path": "p", "value": "vault"}} with input as {
		"containers": [],
		"volumes": [
			{
				"path": "spec.volumes[0]",
				"tokens": [
					{
						"path": "p",
						"audience": "vault",
					},
				],
			},
		],
	}
}

test_ordinary_token_of_api_server if {
	workload_identity.signals == set() with input as {
		"containers": [],
		"volumes": [
			{
				"path": "spec.volumes[0]",
				"tokens": [
					{
						"path": "p",
					},
				],
			},
		],
	}
}
