package sallyport.privileges.rights.bind_test

import data.sallyport.privileges.rights.bind

test_refused_any if {
	bind.needs == {{"privilege": "rights/bind/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}]}}}
}

test_refused_named if {
	bind.needs == {{"privilege": "rights/bind/edit", "path": "rules[0]"}, {"privilege": "rights/bind/view", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": ["view", "edit"]}]}}}
}

test_refused_of_a_binding if {
	bind.needs == {{"privilege": "rights/bind/%2A", "path": "roleRef"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "roleRef", "verbs": ["bind"], "apiGroups": ["*"], "resources": ["roles"]}], "role": "Role/a"}}}
}

test_admitted_other_resource if {
	bind.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["bind"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"]}]}}}
}

test_admitted_other_verb if {
	bind.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}]}}}
}

test_admitted_pod if {
	bind.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
