package sallyport.privileges.volume.secret_test

import data.sallyport.privileges.volume.secret

test_refused_of_its_author if {
	secret.needs == {{
		"privilege": "volume/secret/weights",
		"path": "spec.csi.nodeStageSecretRef",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec",
		"types": ["csi"],
		"csi": {"driver": "file.csi.azure.com"},
		"secrets": [{"path": "spec.csi.nodeStageSecretRef", "namespace": "weights"}],
	}]}
}

test_refused_no_namespace if {
	secret.needs == {{
		"privilege": "volume/secret/%00",
		"path": "spec.volumeName",
	}} with input as {"containers": [], "volumes": [{
		"path": "spec.volumeName",
		"types": ["csi"],
		"csi": {"driver": "file.csi.azure.com"},
		"secrets": [{"path": "spec.volumeName", "namespace": ""}],
	}]}
}

test_admitted_none if {
	secret.needs == set() with input as {"containers": [], "volumes": [{
		"path": "spec",
		"types": ["csi"],
		"csi": {"driver": "file.csi.azure.com"},
	}]}
}
