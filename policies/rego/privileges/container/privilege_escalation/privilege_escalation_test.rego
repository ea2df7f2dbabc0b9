package sallyport.privileges.container.privilege_escalation_test

import data.sallyport.privileges.container.privilege_escalation

test_refused_no_security_context if {
	privilege_escalation.needs == {{
		"privilege": "container/privilege-escalation",
		"path": "spec.containers[0].securityContext.allowPrivilegeEscalation",
		"container": "trainer",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_unset if {
	privilege_escalation.needs == {{
		"privilege": "container/privilege-escalation",
		"path": "spec.containers[0].securityContext.allowPrivilegeEscalation",
		"container": "trainer",
	}} with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "securityContext": {}}],
	}
}

test_refused_true if {
	privilege_escalation.needs == {{
		"privilege": "container/privilege-escalation",
		"path": "spec.containers[0].securityContext.allowPrivilegeEscalation",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"allowPrivilegeEscalation": true},
		}],
	}
}

test_refused_linux if {
	privilege_escalation.needs == {{
		"privilege": "container/privilege-escalation",
		"path": "spec.containers[0].securityContext.allowPrivilegeEscalation",
		"container": "trainer",
	}} with input as {
		"os": "linux",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_false if {
	privilege_escalation.needs == set() with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"allowPrivilegeEscalation": false},
		}],
	}
}

test_admitted_windows if {
	privilege_escalation.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}
