package sallyport.privileges.seccomp.unset_test

import data.sallyport.privileges.seccomp.unset

test_refused_unset if {
	unset.needs == {{
		"privilege": "seccomp/unset",
		"path": "spec.containers[0].securityContext.seccompProfile.type",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_other_fields_only if {
	unset.needs == {{
		"privilege": "seccomp/unset",
		"path": "spec.containers[0].securityContext.seccompProfile.type",
		"container": "trainer",
	}} with input as {
		"securityContext": {},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "securityContext": {}}],
	}
}

test_admitted_pod if {
	unset.needs == set() with input as {
		"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_container if {
	unset.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}},
		}],
	}
}

test_admitted_windows if {
	unset.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_pod_unconfined_is_another_rule if {
	unset.needs == set() with input as {
		"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
