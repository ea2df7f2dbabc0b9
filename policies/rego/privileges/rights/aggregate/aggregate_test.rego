package sallyport.privileges.rights.aggregate_test

import data.sallyport.privileges.rights.aggregate

test_refused_admin if {
	aggregate.needs == {{"privilege": "rights/aggregate/rbac.authorization.k8s.io%2Faggregate-to-admin", "path": "metadata.labels[rbac.authorization.k8s.io/aggregate-to-admin]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}], "aggregated": [{"path": "metadata.labels[rbac.authorization.k8s.io/aggregate-to-admin]", "label": "rbac.authorization.k8s.io/aggregate-to-admin"}]}}}
}

test_admitted_no_label if {
	aggregate.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}]}}}
}

test_admitted_pod if {
	aggregate.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
