package sallyport.privileges.dns.host_alias_test

import data.sallyport.privileges.dns.host_alias

test_refused_each_name if {
	host_alias.needs == {
		{"privilege": "dns/host-alias/a.example", "path": "spec.hostAliases[0]"},
		{"privilege": "dns/host-alias/b", "path": "spec.hostAliases[0]"},
	} with input as {
		"hostAliases": [{"path": "spec.hostAliases[0]", "hostnames": ["a.example", "b"]}],
	}
}

test_refused_odd if {
	host_alias.needs == {{
		"privilege": "dns/host-alias/%2A",
		"path": "spec.hostAliases[0]",
	}} with input as {"hostAliases": [{"path": "spec.hostAliases[0]", "hostnames": ["*"]}]}
}

test_admitted_none if {
	host_alias.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_no_names if {
	host_alias.needs == set() with input as {"hostAliases": [{"path": "spec.hostAliases[0]"}]}
}
