package sallyport.privileges.run_as.administrator_test

import data.sallyport.privileges.run_as.administrator

test_refused_pod if {
	administrator.needs == {{
		"privilege": "run-as/container-administrator",
		"path": "spec.securityContext.windowsOptions.runAsUserName",
	}} with input as {
		"containers": [],
		"securityContext": {"windowsOptions": {"runAsUserName": "ContainerAdministrator"}},
	}
}

test_refused_other_spelling_and_domain if {
	administrator.needs == {{
		"privilege": "run-as/container-administrator",
		"path": "spec.containers[0].securityContext.windowsOptions.runAsUserName",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"securityContext": {"windowsOptions": {"runAsUserName": "NT Authority\\System"}},
	}]}
}

test_admitted_user if {
	administrator.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}},
	}
}

test_admitted_domain_of_that_name if {
	administrator.needs == set() with input as {
		"containers": [],
		"securityContext": {"windowsOptions": {"runAsUserName": "SYSTEM\\trainer"}},
	}
}
