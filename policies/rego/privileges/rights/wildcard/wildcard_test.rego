package sallyport.privileges.rights.wildcard_test

import data.sallyport.privileges.rights.wildcard

test_refused_verbs if {
	wildcard.needs == {{"privilege": "rights/wildcard/verbs", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"]}]}}}
}

test_refused_resources if {
	wildcard.needs == {{"privilege": "rights/wildcard/resources", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["apps"], "resources": ["*"]}]}}}
}

test_refused_subresources if {
	wildcard.needs == {{"privilege": "rights/wildcard/resources", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["apps"], "resources": ["*/scale"]}]}}}
}

test_refused_parts if {
	wildcard.needs == {{"privilege": "rights/wildcard/resources", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["pods/*"]}]}}}
}

test_refused_groups if {
	wildcard.needs == {{"privilege": "rights/wildcard/api-groups", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["*"], "resources": ["deployments"]}]}}}
}

test_refused_urls if {
	wildcard.needs == {{"privilege": "rights/wildcard/urls", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "urls": ["/*"]}]}}}
}

test_admitted_urls_in_a_namespace if {
	wildcard.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "roleRef", "verbs": ["get"], "urls": ["*"]}]}}}
}

test_admitted_some_urls if {
	wildcard.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "urls": ["/healthz/*"]}]}}}
}

test_admitted_list if {
	wildcard.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps", "services"]}]}}}
}

test_admitted_pod if {
	wildcard.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
