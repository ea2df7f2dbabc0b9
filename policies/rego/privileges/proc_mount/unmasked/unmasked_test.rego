package sallyport.privileges.proc_mount.unmasked_test

import data.sallyport.privileges.proc_mount.unmasked

test_refused_unmasked if {
	unmasked.needs == {{
		"privilege": "proc-mount/Unmasked",
		"path": "spec.containers[0].securityContext.procMount",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"procMount": "Unmasked"},
		}],
	}
}

test_refused_empty if {
	unmasked.needs == {{
		"privilege": "proc-mount/%00",
		"path": "spec.containers[0].securityContext.procMount",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"procMount": ""},
		}],
	}
}

test_refused_user_namespace if {
	unmasked.needs == {{
		"privilege": "proc-mount-in-user-namespace/Unmasked",
		"path": "spec.containers[0].securityContext.procMount",
		"container": "trainer",
	}} with input as {
		"hostUsers": false,
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"procMount": "Unmasked"},
		}],
	}
}

test_refused_host_users_true if {
	unmasked.needs == {{
		"privilege": "proc-mount/default",
		"path": "spec.containers[0].securityContext.procMount",
		"container": "trainer",
	}} with input as {
		"hostUsers": true,
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"procMount": "default"},
		}],
	}
}

test_admitted_unset if {
	unmasked.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_default if {
	unmasked.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"procMount": "Default"},
		}],
	}
}
