package sallyport.privileges.rights.unknown_role_test

import data.sallyport.privileges.rights.unknown_role

test_refused_role if {
	unknown_role.needs == {{"privilege": "rights/unknown-role", "path": "roleRef.name"}} with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"role": "Role/a", "unknown": true}}}
}

test_admitted_known if {
	unknown_role.needs == set() with input as {"containers": [], "object": {"kind": "RoleBinding", "rights": {"role": "Role/a"}}}
}

test_admitted_role_itself if {
	unknown_role.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}}}
}

test_admitted_pod if {
	unknown_role.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
