package sallyport.privileges.rights.use_test

import data.sallyport.privileges.rights.use

test_refused_one if {
	use.needs == {{"privilege": "rights/use/pss-privileged", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["use"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"], "resourceNames": ["pss-privileged"]}]}}}
}

test_refused_every if {
	use.needs == {{"privilege": "rights/use/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["use"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"]}]}}}
}

test_refused_wildcard if {
	use.needs == {{"privilege": "rights/use/%2A", "path": "roleRef"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "roleRef", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}], "role": "ClusterRole/admin"}}}
}

test_admitted_read if {
	use.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch"], "apiGroups": ["sallyport.dev"], "resources": ["containerprofiles"]}]}}}
}

test_admitted_other_group if {
	use.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["use"], "apiGroups": ["policy"], "resources": ["podsecuritypolicies"]}]}}}
}

test_admitted_pod if {
	use.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
