package sallyport.privileges.selinux.level_test

import data.sallyport.privileges.selinux.level

test_refused_pod if {
	level.needs == {{
		"privilege": "selinux/level/s0:c123%2Cc456",
		"path": "spec.securityContext.seLinuxOptions.level",
	}} with input as {
		"containers": [],
		"securityContext": {"seLinuxOptions": {"level": "s0:c123,c456"}},
	}
}

test_refused_container if {
	level.needs == {{
		"privilege": "selinux/level/s0-s0:c0.c1023",
		"path": "spec.containers[0].securityContext.seLinuxOptions.level",
		"container": "trainer",
	}} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"securityContext": {"seLinuxOptions": {"level": "s0-s0:c0.c1023"}},
	}]}
}

test_admitted_empty if {
	level.needs == set() with input as {
		"containers": [],
		"securityContext": {"seLinuxOptions": {"level": ""}},
	}
}

test_admitted_type if {
	level.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"securityContext": {"seLinuxOptions": {"type": "container_t"}},
	}
}
