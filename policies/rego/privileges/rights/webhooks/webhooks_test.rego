package sallyport.privileges.rights.webhooks_test

import data.sallyport.privileges.rights.webhooks

test_refused_any if {
	webhooks.needs == {{"privilege": "rights/webhooks/mutatingwebhookconfigurations/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create", "patch"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"]}]}}}
}

test_refused_named if {
	webhooks.needs == {{"privilege": "rights/webhooks/validatingwebhookconfigurations/sallyport", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "delete"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"], "resourceNames": ["sallyport"]}]}}}
}

test_refused_policies if {
	webhooks.needs == {{"privilege": "rights/webhooks/validatingadmissionpolicybindings/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["update"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingadmissionpolicybindings"]}]}}}
}

test_refused_wildcard if {
	webhooks.needs == {{"privilege": "rights/webhooks/%2A/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["update"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_read if {
	webhooks.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch"], "apiGroups": ["admissionregistration.k8s.io"], "resources": ["validatingwebhookconfigurations"]}]}}}
}

test_admitted_in_a_namespace if {
	webhooks.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_pod if {
	webhooks.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
