package sallyport.rules.ingress.hosts_test

import data.sallyport.rules.ingress.hosts

test_refused_others if {
	every host in ["a.example.org", "notexample.com", "example.com.evil.org", "team.example.com.", ""] {
		found({"rules": [{"host": "example.com"}, {"host": host}]}, false) == {{
			"path": "spec.rules[1].host",
			"value": host,
		}}
	}
}

test_refused_of_another_namespace if {
	found({"rules": [{"host": "a.teams.org"}]}, false) == {{
		"path": "spec.rules[0].host",
		"value": "a.teams.org",
	}}
}

test_refused_without_a_host if {
	found({"rules": [{}]}, true) == {{"path": "spec.rules[0].host", "value": "*"}}
}

test_refused_of_another_type if {
	found({"rules": [{"host": ["a.example.com"]}]}, true) == {{
		"path": "spec.rules[0].host",
		"value": `["a.example.com"]`,
	}}
}

test_refused_wildcard if {
	found({"rules": [{"host": "*.example.com"}]}, false) == {{
		"path": "spec.rules[0].host",
		"value": "*.example.com",
	}}
}

test_refused_tls if {
	found({"tls": [{}, {"hosts": ["a.example.com", "b.org"]}]}, false) == {{
		"path": "spec.tls[1].hosts[1]",
		"value": "b.org",
	}}
}

test_refused_default_backend if {
	found({"defaultBackend": {"service": {}}}, true) == {{
		"path": "spec.defaultBackend",
		"value": "",
		"message": "serves all hosts that nobody else does",
	}}
}

test_admitted_of_the_domain if {
	every host in ["example.com", "a.example.com", "a.b.example.com", "a.research.org"] {
		found({"rules": [{"host": host}], "tls": [{"hosts": [host]}]}, false) == set()
	}
}

test_admitted_wildcard if found({"rules": [{"host": "*.a.example.com"}]}, true) == set()

test_admitted_nothing if found({}, false) == set()

found(spec, wildcards) := denials if {
	domains := [
		{"names": ["example.com"]},
		{"namespaces": ["res*"], "names": ["research.org"]},
		{"namespaces": ["team-*"], "names": ["teams.org"]},
	]
	denials := hosts.deny with input as {"context": {"namespace": "research"}, "fields": {"spec": spec}}
		with data.sallyport.parameters.ingress.hosts as {"domains": domains, "wildcards": wildcards}
}
