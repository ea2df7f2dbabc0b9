package sallyport.privileges.rights.secrets_test

import data.sallyport.privileges.rights.secrets

test_refused_read if {
	secrets.needs == {{"privilege": "rights/secrets/read", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]}}}
}

test_refused_listed_by_name if {
	secrets.needs == {{"privilege": "rights/secrets/read", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["list"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]}]}}}
}

test_refused_written if {
	secrets.needs == {{"privilege": "rights/secrets/write", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["patch"], "apiGroups": [""], "resources": ["secrets"]}]}}}
}

test_refused_for_others if {
	secrets.needs == {{"privilege": "rights/secrets/read", "path": "roleRef"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "roleRef", "verbs": ["watch"], "apiGroups": [""], "resources": ["secrets"]}], "foreign": true}}}
}

test_admitted_of_its_own_namespace if {
	secrets.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get", "list", "create"], "apiGroups": [""], "resources": ["secrets"]}]}}}
}

test_admitted_other_resource if {
	secrets.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]}}}
}

test_admitted_pod if {
	secrets.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
