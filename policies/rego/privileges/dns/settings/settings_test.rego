package sallyport.privileges.dns.settings_test

import data.sallyport.privileges.dns.settings

test_refused_none if {
	settings.needs == {{"privilege": "dns/policy/None", "path": "spec.dnsPolicy"}} with input as {
		"dnsPolicy": "None",
	}
}

test_refused_default if {
	settings.needs == {{
		"privilege": "dns/policy/Default",
		"path": "spec.dnsPolicy",
	}} with input as {"dnsPolicy": "Default"}
}

test_refused_unknown if {
	settings.needs == {{
		"privilege": "dns/policy/clusterfirst%20",
		"path": "spec.dnsPolicy",
	}} with input as {"dnsPolicy": "clusterfirst "}
}

test_refused_name_servers if {
	settings.needs == {
		{"privilege": "dns/nameserver/192.0.2.1", "path": "spec.dnsConfig.nameservers[0]"},
		{"privilege": "dns/nameserver/fd00::1", "path": "spec.dnsConfig.nameservers[1]"},
	} with input as {"nameservers": ["192.0.2.1", "fd00::1"]}
}

test_refused_both if {
	settings.needs == {
		{"privilege": "dns/policy/None", "path": "spec.dnsPolicy"},
		{"privilege": "dns/nameserver/%00", "path": "spec.dnsConfig.nameservers[0]"},
	} with input as {"dnsPolicy": "None", "nameservers": [""]}
}

test_admitted_unset if {
	settings.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_cluster_first if {
	settings.needs == set() with input as {"dnsPolicy": "ClusterFirst"}
}

test_admitted_with_host_net if {
	settings.needs == set() with input as {"dnsPolicy": "ClusterFirstWithHostNet"}
}
