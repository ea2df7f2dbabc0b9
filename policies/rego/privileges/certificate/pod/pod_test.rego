package sallyport.privileges.certificate.pod_test

import data.sallyport.privileges.certificate.pod

test_refused_all_named if {
	pod.needs == {{"privilege": "certificate/pod/trainer/llama-0/kubernetes.io/kube-apiserver-client-pod", "path": "spec"}} with input as {"containers": [], "object": {"kind": "PodCertificateRequest", "name": "trainer", "pod": "llama-0", "signer": "kubernetes.io/kube-apiserver-client-pod"}}
}

test_refused_nothing_named if {
	pod.needs == {{"privilege": "certificate/pod/%00/%00/%00", "path": "spec"}} with input as {"containers": [], "object": {"kind": "PodCertificateRequest"}}
}

test_refused_names_are_segments if {
	pod.needs == {{"privilege": "certificate/pod/a%2Fb/%2A/example.com/mesh", "path": "spec"}} with input as {"containers": [], "object": {"kind": "PodCertificateRequest", "name": "a/b", "pod": "*", "signer": "example.com/mesh"}}
}

test_admitted_signing_request if {
	pod.needs == set() with input as {"containers": [], "object": {"kind": "CertificateSigningRequest", "name": "a", "signer": "example.com/mesh"}}
}

test_admitted_pod if {
	pod.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
