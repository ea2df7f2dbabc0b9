package sallyport.privileges.certificate.identity_test

import data.sallyport.privileges.certificate.identity

test_refused_masters if {
	identity.needs == {{"privilege": "certificate/user/user:fdee430d40bd57de", "path": "spec.request"}, {"privilege": "certificate/group/system:masters", "path": "spec.request"}} with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "kubernetes.io/kube-apiserver-client", "commonName": "user:fdee430d40bd57de", "organisations": ["system:masters"]}}
}

test_refused_node if {
	identity.needs == {{"privilege": "certificate/user/system:node:a", "path": "spec.request"}, {"privilege": "certificate/group/system:nodes", "path": "spec.request"}} with input as {"containers": [], "object": {"kind": "CertificateApproval", "name": "a", "signer": "kubernetes.io/kube-apiserver-client-kubelet", "commonName": "system:node:a", "organisations": ["system:nodes"]}}
}

test_refused_unreadable if {
	identity.needs == {{"privilege": "certificate/user/%00", "path": "spec.request"}} with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "kubernetes.io/kube-apiserver-client"}}
}

test_admitted_other_signer if {
	identity.needs == set() with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "example.com/mesh", "commonName": "user:fdee430d40bd57de", "organisations": ["system:masters"]}}
}

test_admitted_pod if {
	identity.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
