package sallyport.rules.services.external_name_test

import data.sallyport.rules.services.external_name

test_refused_others if {
	every name in ["localhost", "example.com.evil.org", "notexample.com", "db.other.svc.cluster.local", "127.0.0.1", ""] {
		found({"type": "ExternalName", "externalName": name}) == {{
			"path": "spec.externalName",
			"value": name,
		}}
	}
}

test_refused_of_another_type if {
	every name in [5, ["example.com"], {"a": "example.com"}, true] {
		found({"type": "ExternalName", "externalName": name}) == {{
			"path": "spec.externalName",
			"value": json.marshal(name),
		}}
	}
	count(found({"type": ["ClusterIP"], "externalName": "localhost"})) == 1
}

test_refused_absent if count(found({"type": "ExternalName"})) == 1

test_admitted_of_the_domain if {
	every name in ["example.com", "a.b.example.com", "DB.Example.com."] {
		found({"type": "ExternalName", "externalName": name}) == set()
	}
}

test_admitted_other_types if {
	every type in ["ClusterIP", "NodePort", "LoadBalancer"] {
		found({"type": type}) == set()
	}
	found({}) == set()
}

found(spec) := denials if {
	denials := external_name.deny with input.fields.spec as spec
		with data.sallyport.parameters.services.external_name as {"domains": ["example.com"]}
}
