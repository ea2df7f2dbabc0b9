package sallyport.privileges.rights.pod_certificates_test

import data.sallyport.privileges.rights.pod_certificates

test_refused_in_a_namespace if {
	pod_certificates.needs == {{"privilege": "rights/pod-certificates", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests"]}]}}}
}

test_refused_everywhere if {
	pod_certificates.needs == {{"privilege": "rights/pod-certificates", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["get", "create"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests", "podcertificaterequests"]}]}}}
}

test_refused_every_verb if {
	pod_certificates.needs == {{"privilege": "rights/pod-certificates", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests"]}]}}}
}

test_refused_every_resource if {
	pod_certificates.needs == {{"privilege": "rights/pod-certificates", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_refused_named if {
	pod_certificates.needs == {{"privilege": "rights/pod-certificates", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests"], "resourceNames": ["a"]}]}}}
}

test_admitted_reading if {
	pod_certificates.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["get", "list", "watch", "delete"], "apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests"]}]}}}
}

test_admitted_signer if {
	pod_certificates.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["update", "patch"], "apiGroups": ["certificates.k8s.io"], "resources": ["podcertificaterequests/status"]}]}}}
}

test_admitted_signing_requests if {
	pod_certificates.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"]}]}}}
}

test_admitted_pod if {
	pod_certificates.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
