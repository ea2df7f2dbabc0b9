package sallyport.rules.services.external_ips_test

import data.sallyport.rules.services.external_ips

test_refused_others if {
	found({"externalIPs": ["192.0.2.1", "192.0.2.2", 5]}, ["192.0.2.1"]) == {
		{"path": "spec.externalIPs[1]", "value": "192.0.2.2"},
		{"path": "spec.externalIPs[2]", "value": "5"},
	}
}

test_refused_no_list if {
	found({"externalIPs": "192.0.2.1"}, ["192.0.2.1"]) == {{
		"path": "spec.externalIPs",
		"value": "192.0.2.1",
	}}
}

test_admitted_none if {
	found({}, []) == set()
	found({"externalIPs": []}, []) == set()
}

test_admitted_listed if found({"externalIPs": ["192.0.2.1"]}, ["192.0.2.1"]) == set()

found(spec, addresses) := denials if {
	denials := external_ips.deny with input.fields.spec as spec
		with data.sallyport.parameters.services.external_ips as {"addresses": addresses}
}
