package sallyport.privileges.identity.gmsa_test

import data.sallyport.privileges.identity.gmsa

test_refused_name if {
	gmsa.needs == {{
		"privilege": "identity/gmsa/weights-reader",
		"path": "spec.securityContext.windowsOptions.gmsaCredentialSpecName",
	}} with input as {
		"containers": [],
		"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "weights-reader"}},
	}
}

test_refused_inline if {
	gmsa.needs == {{
		"privilege": "identity/gmsa-inline",
		"path": "spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"securityContext": {"windowsOptions": {"gmsaCredentialSpec": "given"}},
	}]}
}

test_admitted_none if {
	gmsa.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}},
	}
}
