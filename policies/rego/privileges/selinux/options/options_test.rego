package sallyport.privileges.selinux.options_test

import data.sallyport.privileges.selinux.options

test_refused_pod if {
	options.needs == {
		{"privilege": "selinux/type/spc_t", "path": "spec.securityContext.seLinuxOptions.type"},
		{"privilege": "selinux/user/system_u", "path": "spec.securityContext.seLinuxOptions.user"},
		{"privilege": "selinux/role/a%2Fb", "path": "spec.securityContext.seLinuxOptions.role"},
	} with input as {
		"securityContext": {"seLinuxOptions": {"type": "spc_t", "user": "system_u", "role": "a/b"}},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_container if {
	options.needs == {{
		"privilege": "selinux/type/container_t",
		"path": "spec.containers[0].securityContext.seLinuxOptions.type",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seLinuxOptions": {"type": "container_t", "user": "", "role": ""}},
		}],
	}
}

test_admitted_unset if {
	options.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty if {
	options.needs == set() with input as {
		"securityContext": {"seLinuxOptions": {"type": "", "user": "", "role": ""}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"seLinuxOptions": {}},
		}],
	}
}
