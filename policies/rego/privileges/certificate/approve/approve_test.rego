package sallyport.privileges.certificate.approve_test

import data.sallyport.privileges.certificate.approve

test_refused_signer if {
	approve.needs == {{"privilege": "certificate/approve/kubernetes.io/kubelet-serving", "path": "status.conditions"}} with input as {"containers": [], "object": {"kind": "CertificateApproval", "name": "a", "signer": "kubernetes.io/kubelet-serving"}}
}

test_refused_none if {
	approve.needs == {{"privilege": "certificate/approve/%00", "path": "status.conditions"}} with input as {"containers": [], "object": {"kind": "CertificateApproval", "name": "a"}}
}

test_admitted_request if {
	approve.needs == set() with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "example.com/mesh"}}
}

test_admitted_pod if {
	approve.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
