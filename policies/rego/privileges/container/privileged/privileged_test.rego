package sallyport.privileges.container.privileged_test

import data.sallyport.privileges.container.privileged

test_refused_true if {
	privileged.needs == {{
		"privilege": "container/privileged",
		"path": "spec.containers[0].securityContext.privileged",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"privileged": true},
		}],
	}
}

test_admitted_unset if {
	privileged.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	privileged.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"privileged": false},
		}],
	}
}
