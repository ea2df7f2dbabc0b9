package sallyport.privileges.host.process_test

import data.sallyport.privileges.host.process

test_refused_pod if {
	process.needs == {{
		"privilege": "host/process",
		"path": "spec.securityContext.windowsOptions.hostProcess",
	}} with input as {
		"securityContext": {"windowsOptions": {"hostProcess": true}},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_container if {
	process.needs == {{
		"privilege": "host/process",
		"path": "spec.containers[0].securityContext.windowsOptions.hostProcess",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"windowsOptions": {"hostProcess": true}},
		}],
	}
}

test_admitted_unset if {
	process.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	process.needs == set() with input as {
		"securityContext": {"windowsOptions": {"hostProcess": false}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"windowsOptions": {"hostProcess": false}},
		}],
	}
}
