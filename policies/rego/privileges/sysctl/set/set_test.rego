package sallyport.privileges.sysctl.set_test

import data.sallyport.privileges.sysctl.set

test_refused_each if {
	set.needs == {
		{"privilege": "sysctl/kernel.msgmax", "path": "spec.securityContext.sysctls[0]"},
		{"privilege": "sysctl/net.ipv4.tcp_syncookies", "path": "spec.securityContext.sysctls[1]"},
	} with input as {
		"securityContext": {
			"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_syncookies"}],
		},
	}
}

test_refused_slashes if {
	set.needs == {{
		"privilege": "sysctl/net%2Fipv4%2Ftcp_syncookies",
		"path": "spec.securityContext.sysctls[0]",
	}} with input as {"securityContext": {"sysctls": [{"name": "net/ipv4/tcp_syncookies"}]}}
}

test_refused_no_name if {
	set.needs == {{
		"privilege": "sysctl/%00",
		"path": "spec.securityContext.sysctls[0]",
	}} with input as {"securityContext": {"sysctls": [{}]}}
}

test_admitted_none if {
	set.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_empty_list if {
	set.needs == set() with input as {"securityContext": {"sysctls": []}}
}
