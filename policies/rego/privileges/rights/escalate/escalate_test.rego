package sallyport.privileges.rights.escalate_test

import data.sallyport.privileges.rights.escalate

test_refused_any if {
	escalate.needs == {{"privilege": "rights/escalate/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}]}}}
}

test_refused_named if {
	escalate.needs == {{"privilege": "rights/escalate/a:b", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "escalate"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["a:b"]}]}}}
}

test_refused_wildcard if {
	escalate.needs == {{"privilege": "rights/escalate/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_other_verb if {
	escalate.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create", "update"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}]}}}
}

test_admitted_other_group if {
	escalate.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["escalate"], "apiGroups": ["example.com"], "resources": ["roles"]}]}}}
}

test_admitted_pod if {
	escalate.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
