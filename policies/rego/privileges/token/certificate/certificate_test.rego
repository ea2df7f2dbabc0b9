package sallyport.privileges.token.certificate_test

import data.sallyport.privileges.token.certificate

test_refused_signer if {
	certificate.needs == {{
		"privilege": "token/certificate/kubernetes.io%2Fkube-apiserver-client-pod",
		"path": "spec.volumes[0].projected.sources[0].podCertificate.signerName",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"certificates": [{
				"path": "spec.volumes[0].projected.sources[0].podCertificate.signerName",
				"signer": "kubernetes.io/kube-apiserver-client-pod",
			}],
		}],
	}
}

test_refused_no_signer if {
	certificate.needs == {{
		"privilege": "token/certificate/%00",
		"path": "spec.volumes[0].projected.sources[0].podCertificate.signerName",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"certificates": [{
				"path": "spec.volumes[0].projected.sources[0].podCertificate.signerName",
			}],
		}],
	}
}

test_admitted_none if {
	certificate.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_token if {
	certificate.needs == set() with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
				"audience": "a",
			}],
		}],
	}
}
