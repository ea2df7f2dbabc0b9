package sallyport.privileges.rights.sallyport_test

import data.sallyport.privileges.rights.sallyport

test_refused_profiles if {
	sallyport.needs == {{"privilege": "rights/sallyport/containerprofiles", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["update"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"]}]}}}
}

test_refused_every if {
	sallyport.needs == {{"privilege": "rights/sallyport/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_refused_status if {
	sallyport.needs == {{"privilege": "rights/sallyport/policyexceptions%2Fstatus", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["patch"], "apiGroups": ["sallyport.dev"], "resources": ["policyexceptions/status"]}]}}}
}

test_admitted_read if {
	sallyport.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"]}]}}}
}

test_admitted_use if {
	sallyport.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["use"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"]}]}}}
}

test_admitted_other_group if {
	sallyport.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["update"], "apiGroups": ["example.com"], "resources": ["containerprofiles"]}]}}}
}

test_admitted_pod if {
	sallyport.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
