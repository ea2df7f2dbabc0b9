package sallyport.privileges.capability.defaults_test

import data.sallyport.privileges.capability.defaults

test_refused_no_security_context if {
	defaults.needs == {{
		"privilege": "capabilities/default",
		"path": "spec.containers[0].securityContext.capabilities.drop",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_no_drop if {
	defaults.needs == {{
		"privilege": "capabilities/default",
		"path": "spec.containers[0].securityContext.capabilities.drop",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"add": ["ALL"]}},
		}],
	}
}

test_refused_other_drop if {
	defaults.needs == {{
		"privilege": "capabilities/default",
		"path": "spec.containers[0].securityContext.capabilities.drop",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"drop": ["NET_RAW", "all"]}},
		}],
	}
}

test_admitted_drop_all if {
	defaults.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"capabilities": {"drop": ["NET_RAW", "ALL"]}},
		}],
	}
}

test_admitted_windows if {
	defaults.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
