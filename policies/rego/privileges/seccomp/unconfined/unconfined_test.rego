package sallyport.privileges.seccomp.unconfined_test

import data.sallyport.privileges.seccomp.unconfined

test_refused_container if {
	unconfined.needs == {{
		"privilege": "seccomp/unconfined",
		"path": "spec.containers[0].securityContext.seccompProfile.type",
		"container": "trainer",
	}} with input as {
		"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		}],
	}
}

test_refused_pod if {
	unconfined.needs == {{
		"privilege": "seccomp/unconfined",
		"path": "spec.securityContext.seccompProfile.type",
	}} with input as {
		"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
		}],
	}
}

test_refused_no_type if {
	unconfined.needs == {
		{
			"privilege": "seccomp/unconfined",
			"path": "spec.containers[0].securityContext.seccompProfile.type",
			"container": "trainer",
		},
		{"privilege": "seccomp/unconfined", "path": "spec.securityContext.seccompProfile.type"},
	} with input as {
		"securityContext": {"seccompProfile": {}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {}},
		}],
	}
}

test_refused_other_text if {
	unconfined.needs == {{
		"privilege": "seccomp/unconfined",
		"path": "spec.containers[0].securityContext.seccompProfile.type",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "runtimeDefault"}},
		}],
	}
}

test_refused_windows if {
	unconfined.needs == {{
		"privilege": "seccomp/unconfined",
		"path": "spec.containers[0].securityContext.seccompProfile.type",
		"container": "trainer",
	}} with input as {
		"os": "windows",
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "Unconfined"}},
		}],
	}
}

test_admitted_unset if {
	unconfined.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_confined if {
	unconfined.needs == set() with input as {
		"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}},
		}],
	}
}
