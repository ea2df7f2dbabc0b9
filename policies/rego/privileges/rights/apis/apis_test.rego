package sallyport.privileges.rights.apis_test

import data.sallyport.privileges.rights.apis

test_refused_services if {
	apis.needs == {{"privilege": "rights/apis/apiservices/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"]}]}}}
}

test_refused_definition if {
	apis.needs == {{"privilege": "rights/apis/customresourcedefinitions/a.example.com", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["patch"], "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "resourceNames": ["a.example.com"]}]}}}
}

test_refused_wildcard if {
	apis.needs == {{"privilege": "rights/apis/%2A/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_read if {
	apis.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch"], "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}]}}}
}

test_admitted_in_a_namespace if {
	apis.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_pod if {
	apis.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
