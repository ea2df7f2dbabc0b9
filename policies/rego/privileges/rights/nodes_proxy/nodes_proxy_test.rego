package sallyport.privileges.rights.nodes_proxy_test

import data.sallyport.privileges.rights.nodes_proxy

test_refused_get if {
	nodes_proxy.needs == {{"privilege": "rights/nodes-proxy", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["nodes", "nodes/proxy"]}]}}}
}

test_refused_every_proxy if {
	nodes_proxy.needs == {{"privilege": "rights/nodes-proxy", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": [""], "resources": ["*/proxy"]}]}}}
}

test_refused_subresources if {
	nodes_proxy.needs == {{"privilege": "rights/nodes-proxy", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["nodes/*"]}]}}}
}

test_admitted_metrics if {
	nodes_proxy.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["nodes/metrics", "nodes/stats"]}]}}}
}

test_admitted_in_a_namespace if {
	nodes_proxy.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get"], "apiGroups": [""], "resources": ["nodes/proxy"]}]}}}
}

test_admitted_pod if {
	nodes_proxy.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
