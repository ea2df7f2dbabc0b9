package sallyport.privileges.rights.impersonate_test

import data.sallyport.privileges.rights.impersonate

test_refused_users if {
	impersonate.needs == {{"privilege": "rights/impersonate/groups/%2A", "path": "rules[0]"}, {"privilege": "rights/impersonate/users/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users", "groups"]}]}}}
}

test_refused_one_group if {
	impersonate.needs == {{"privilege": "rights/impersonate/groups/system:masters", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"], "resourceNames": ["system:masters"]}]}}}
}

test_refused_one_person if {
	impersonate.needs == {{"privilege": "rights/impersonate/users/user:fdee430d40bd57de", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["user:fdee430d40bd57de"]}]}}}
}

test_refused_extra if {
	impersonate.needs == {{"privilege": "rights/impersonate/uids/%2A", "path": "rules[0]"}, {"privilege": "rights/impersonate/userextras/oid", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/oid", "uids"]}]}}}
}

test_refused_every_extra if {
	impersonate.needs == {{"privilege": "rights/impersonate/userextras/oid", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["*/oid"]}]}}}
}

test_refused_accounts_here if {
	impersonate.needs == {{"privilege": "rights/impersonate/serviceaccounts/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}]}}}
}

test_refused_constrained if {
	impersonate.needs == {{"privilege": "rights/impersonate/users/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate:user-info"], "apiGroups": ["authentication.k8s.io"], "resources": ["users"]}]}}}
}

test_refused_nodes if {
	impersonate.needs == {{"privilege": "rights/impersonate/nodes/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["impersonate:arbitrary-node"], "apiGroups": ["authentication.k8s.io"], "resources": ["nodes"]}]}}}
}

test_refused_wildcard_here if {
	impersonate.needs == {{"privilege": "rights/impersonate/serviceaccounts/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_users_in_a_namespace if {
	impersonate.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]}]}}}
}

test_admitted_other_verb if {
	impersonate.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["users", "serviceaccounts"]}]}}}
}

test_admitted_pod if {
	impersonate.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
