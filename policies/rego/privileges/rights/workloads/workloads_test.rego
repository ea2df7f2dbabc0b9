package sallyport.privileges.rights.workloads_test

import data.sallyport.privileges.rights.workloads

test_refused_run if {
	workloads.needs == {{"privilege": "rights/workloads/run", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["apps"], "resources": ["deployments"]}]}}}
}

test_refused_pods if {
	workloads.needs == {{"privilege": "rights/workloads/run", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["patch"], "apiGroups": [""], "resources": ["pods"]}]}}}
}

test_refused_enter if {
	workloads.needs == {{"privilege": "rights/workloads/enter", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["pods/exec"]}]}}}
}

test_refused_every_exec if {
	workloads.needs == {{"privilege": "rights/workloads/enter", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["*/exec"]}]}}}
}

test_admitted_in_a_namespace if {
	workloads.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["pods", "pods/exec"]}]}}}
}

test_admitted_read if {
	workloads.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch", "delete"], "apiGroups": [""], "resources": ["pods", "pods/log"]}]}}}
}

test_admitted_pod if {
	workloads.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
