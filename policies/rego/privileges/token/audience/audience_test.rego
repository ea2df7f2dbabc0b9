package sallyport.privileges.token.audience_test

import data.sallyport.privileges.token.audience

test_refused_cloud if {
	audience.needs == {{
		"privilege": "token/audience/api:%2F%2FAzureADTokenExchange",
		"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
				"audience": "api://AzureADTokenExchange",
			}],
		}],
	}
}

test_refused_driver if {
	audience.needs == {{
		"privilege": "token/audience/vault",
		"path": "spec.tokenRequests[0].audience",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "CSIDriver",
			"name": "a",
			"tokens": [{"path": "spec.tokenRequests[0].audience", "audience": "vault"}],
		},
	}
}

test_refused_driver_for_the_api_server if {
	audience.needs == {{
		"privilege": "token/audience/%00",
		"path": "spec.tokenRequests[0].audience",
	}} with input as {
		"containers": [],
		"object": {
			"kind": "CSIDriver",
			"name": "a",
			"tokens": [{"path": "spec.tokenRequests[0].audience"}],
		},
	}
}

test_admitted_none if {
	audience.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_for_the_api_server if {
	audience.needs == set() with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
			}],
		}],
	}
}

test_admitted_empty if {
	audience.needs == set() with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
				"audience": "",
			}],
		}],
	}
}

test_admitted_driver_without if {
	audience.needs == set() with input as {
		"containers": [],
		"object": {"kind": "CSIDriver", "name": "a"},
	}
}
