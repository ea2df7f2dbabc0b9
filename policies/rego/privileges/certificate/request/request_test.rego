package sallyport.privileges.certificate.request_test

import data.sallyport.privileges.certificate.request

test_refused_signer if {
	request.needs == {{"privilege": "certificate/request/example.com/mesh", "path": "spec.signerName"}} with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "example.com/mesh"}}
}

test_refused_none if {
	request.needs == {{"privilege": "certificate/request/%00", "path": "spec.signerName"}} with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a"}}
}

test_admitted_approval if {
	request.needs == set() with input as {"containers": [], "object": {"kind": "CertificateApproval", "name": "a", "signer": "example.com/mesh"}}
}

test_admitted_pod if {
	request.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
