package sallyport.privileges.container.root_filesystem_test

import data.sallyport.privileges.container.root_filesystem

test_refused_unset if {
	root_filesystem.needs == {{
		"privilege": "container/writable-root",
		"path": "spec.containers[0].securityContext.readOnlyRootFilesystem",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_false if {
	root_filesystem.needs == {{
		"privilege": "container/writable-root",
		"path": "spec.containers[0].securityContext.readOnlyRootFilesystem",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"readOnlyRootFilesystem": false},
		}],
	}
}

test_refused_other_context if {
	root_filesystem.needs == {{
		"privilege": "container/writable-root",
		"path": "spec.containers[0].securityContext.readOnlyRootFilesystem",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"privileged": false},
		}],
	}
}

test_refused_linux if {
	root_filesystem.needs == {{
		"privilege": "container/writable-root",
		"path": "spec.containers[0].securityContext.readOnlyRootFilesystem",
		"container": "trainer",
	}} with input as {
		"os": "linux",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_true if {
	root_filesystem.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"readOnlyRootFilesystem": true},
		}],
	}
}

test_admitted_windows if {
	root_filesystem.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
