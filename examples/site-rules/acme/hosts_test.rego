package sallyport.rules.acme.hosts_test

import data.sallyport.rules.acme.hosts

wanted := {"domains": [".example.com"]}

rules(names) := {"fields": {"spec": {"rules": [{"host": name} | some name in names]}}}

test_refused_another_domain if {
	found := hosts.deny with input as rules(["a.example.com", "example.org"])
		with data.sallyport.parameters.acme.hosts as wanted
	found == {{"path": "spec.rules[1].host", "value": "example.org"}}
}

test_refused_without_a_host if {
	found := hosts.deny with input as {"fields": {"spec": {"rules": [{}]}}}
		with data.sallyport.parameters.acme.hosts as wanted
	found == {{"path": "spec.rules[0].host", "value": "*"}}
}

test_refused_no_domain if {
	found := hosts.deny with input as rules(["a.example.com"])
		with data.sallyport.parameters.acme.hosts as {"domains": []}
	count(found) == 1
}

test_admitted_its_own if {
	found := hosts.deny with input as rules(["a.example.com"])
		with data.sallyport.parameters.acme.hosts as wanted
	found == set()
}

test_admitted_without_rules if {
	found := hosts.deny with input as {"fields": {}} with data.sallyport.parameters.acme.hosts as wanted
	found == set()
}
