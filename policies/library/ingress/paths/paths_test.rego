package sallyport.rules.ingress.paths_test

import data.sallyport.rules.ingress.paths

test_refused_not_plain if {
	every path in ["/a b", "/x{", "~* ^/a", "/a;", "", "a", "/%2e", "/a\n", "/a/../b"] {
		found([{"path": path, "pathType": "Prefix"}], "/[a-z./]*") == {{
			"path": "spec.rules[1].http.paths[0].path",
			"value": path,
		}}
	}
}

test_refused_below_forbidden if {
	every path in ["/etc", "/etc/", "/etc/nginx", "//etc", "/ETC/x", "/var/run/secrets/x"] {
		found([{"path": path, "pathType": "Exact"}], ".*") == {{
			"path": "spec.rules[1].http.paths[0].path",
			"value": path,
		}}
	}
}

test_refused_type if {
	found([{"path": "/", "pathType": "ImplementationSpecific"}, {"path": "/"}], ".*") == {
		{
			"path": "spec.rules[1].http.paths[0].pathType",
			"value": "ImplementationSpecific",
			"message": "has a path of the type ImplementationSpecific",
		},
		{
			"path": "spec.rules[1].http.paths[1].pathType",
			"value": "unset",
			"message": "has a path of the type unset",
		},
	}
}

test_refused_of_another_type if {
	every path in [5, ["/"], {"a": "/"}, true] {
		found([{"path": path, "pathType": "Prefix"}], ".*") == {{
			"path": "spec.rules[1].http.paths[0].path",
			"value": json.marshal(path),
		}}
	}
}

test_refused_by_a_pattern_that_is_none if count(found([{"path": "/", "pathType": "Exact"}], "(")) == 1

test_admitted_plain if {
	every path in ["/", "/api", "/etcetera", "/a.b/c", "/api/etc"] {
		found([{"path": path, "pathType": "Prefix"}], "/[a-z./]*") == set()
	}
	found([{"pathType": "Prefix"}], "/.*") == set()
}

found(entries, pattern) := denials if {
	denials := paths.deny with input.fields.spec.rules as [{}, {"http": {"paths": entries}}]
		with data.sallyport.parameters.ingress.paths as {
			"types": ["Prefix", "Exact"],
			"pattern": pattern,
			"forbidden": ["/etc", "/var/run/secrets/"],
		}
}
