package sallyport.privileges.rights.collect_test

import data.sallyport.privileges.rights.collect

test_refused_label if {
	collect.needs == {{"privilege": "rights/collect/a%3Db", "path": "aggregationRule.clusterRoleSelectors[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [], "collected": [{"path": "aggregationRule.clusterRoleSelectors[0]", "labels": "a=b"}]}}}
}

test_refused_everything if {
	collect.needs == {{"privilege": "rights/collect/%2A", "path": "aggregationRule.clusterRoleSelectors[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [], "collected": [{"path": "aggregationRule.clusterRoleSelectors[0]"}]}}}
}

test_admitted_no_selector if {
	collect.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}}}
}

test_admitted_pod if {
	collect.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
