package sallyport.privileges.rights.certificates_test

import data.sallyport.privileges.rights.certificates

test_refused_any if {
	certificates.needs == {{"privilege": "rights/certificates/approve/%2A", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["approve"], "apiGroups": ["certificates.k8s.io"], "resources": ["signers"]}]}}}
}

test_refused_named if {
	certificates.needs == {{"privilege": "rights/certificates/sign/kubernetes.io%2Fkube-apiserver-client", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["sign"], "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["kubernetes.io/kube-apiserver-client"]}]}}}
}

test_refused_bundles if {
	certificates.needs == {{"privilege": "rights/certificates/attest/example.com%2Fa", "path": "rules[0]"}} with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["attest"], "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["example.com/a"]}]}}}
}

test_admitted_requests if {
	certificates.needs == set() with input as {"containers": [], "object": {"kind": "ClusterRole", "name": "a", "rights": {"everywhere": true, "rules": [{"path": "rules[0]", "verbs": ["create"], "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"]}]}}}
}

test_admitted_in_a_namespace if {
	certificates.needs == set() with input as {"containers": [], "object": {"kind": "Role", "name": "a", "rights": {"rules": [{"path": "rules[0]", "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}}
}

test_admitted_pod if {
	certificates.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
