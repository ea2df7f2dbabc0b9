package sallyport.rules.ingress.tls_test

import data.sallyport.rules.ingress.tls

test_refused_uncovered if {
	every entries in [[], [{}], [{"hosts": ["b.example.com"]}], [{"hosts": ["*.com", "*"]}]] {
		found({"rules": [{"host": "a.example.com"}], "tls": entries}) == {{
			"path": "spec.rules[0].host",
			"value": "a.example.com",
		}}
	}
	count(found({"rules": [{"host": "a.example.com"}]})) == 1
}

test_refused_without_a_parent if {
	count(found({"rules": [{"host": "local"}], "tls": [{"hosts": ["*"]}]})) == 1
}

test_refused_without_a_host if {
	found({"rules": [{}], "tls": [{"hosts": ["a.example.com"]}]}) == {{
		"path": "spec.rules[0].host",
		"value": "*",
	}}
}

test_refused_of_another_type if {
	found({"rules": [{"host": 5}], "tls": [{"hosts": [5]}]}) == {{
		"path": "spec.rules[0].host",
		"value": "5",
	}}
}

test_refused_default_backend if {
	found({"defaultBackend": {"service": {}}, "tls": [{"hosts": ["a"]}]}) == {{
		"path": "spec.defaultBackend",
		"value": "all other hosts",
	}}
}

test_admitted_covered if {
	every name in ["a.example.com", "*.example.com"] {
		found({"rules": [{"host": "a.example.com"}], "tls": [{}, {"hosts": ["b", name]}]}) == set()
	}
	found({"rules": [{"host": "local"}], "tls": [{"hosts": ["local"]}]}) == set()
	found({"rules": [{"host": "*.example.com"}], "tls": [{"hosts": ["*.example.com"]}]}) == set()
}

test_admitted_nothing if found({}) == set()

found(spec) := denials if {
	denials := tls.deny with input.fields.spec as spec
}
