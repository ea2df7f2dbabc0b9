package sallyport.privileges.rights.approve_test

import data.sallyport.privileges.rights.approve

test_refused_one if {
	approve.needs == {{"privilege": "rights/approve/exceptions", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["approve"], "apiGroups": ["sallyport.dev"], "resources": ["approvaltiers"], "resourceNames": ["exceptions"]}]}}}
}

test_refused_every if {
	approve.needs == {{"privilege": "rights/approve/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["sallyport.dev"], "resources": ["*"]}]}}}
}

test_admitted_in_a_namespace if {
	approve.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["approve"], "apiGroups": ["sallyport.dev"], "resources": ["approvaltiers"]}]}}}
}

test_admitted_other_verb if {
	approve.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["sallyport.dev"], "resources": ["approvaltiers"]}]}}}
}

test_admitted_pod if {
	approve.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
