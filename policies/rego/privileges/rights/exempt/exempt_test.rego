package sallyport.privileges.rights.exempt_test

import data.sallyport.privileges.rights.exempt

test_refused_one if {
	exempt.needs == {{"privilege": "rights/exempt/train", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["exempt"], "apiGroups": ["sallyport.dev"], "resources": ["namespaces"], "resourceNames": ["train"]}]}}}
}

test_refused_every if {
	exempt.needs == {{"privilege": "rights/exempt/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["exempt"], "apiGroups": ["sallyport.dev"], "resources": ["namespaces"]}]}}}
}

test_admitted_in_a_namespace if {
	exempt.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["exempt"], "apiGroups": ["sallyport.dev"], "resources": ["namespaces"]}]}}}
}

test_admitted_other_group if {
	exempt.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["exempt"], "apiGroups": [""], "resources": ["namespaces"]}]}}}
}

test_admitted_pod if {
	exempt.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
