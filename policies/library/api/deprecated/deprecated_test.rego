package sallyport.rules.api.deprecated_test

import data.sallyport.rules.api.deprecated

test_refused_version_and_kind if {
	found("networking.k8s.io/Ingress", "networking.k8s.io/v1beta1") == {{
		"path": "apiVersion",
		"value": "networking.k8s.io/v1",
	}}
}

test_refused_version_of_all_kinds if {
	found("extensions/Deployment", "extensions/v1beta1") == {{"path": "apiVersion", "value": "apps/v1"}}
}

test_refused_kind_before_version if {
	found("extensions/Ingress", "extensions/v1beta1") == {{
		"path": "apiVersion",
		"value": "networking.k8s.io/v1",
	}}
}

test_admitted_version if {
	found("networking.k8s.io/Ingress", "networking.k8s.io/v1") == set()
	found("networking.k8s.io/NetworkPolicy", "networking.k8s.io/v1beta1") == set()
	found("Pod", "v1") == set()
}

test_admitted_none if {
	deprecated.deny == set() with input as {"kind": "Pod", "fields": {}}
		with data.sallyport.parameters.api.deprecated as {"versions": {"v1": "v2"}}
}

found(kind, version) := denials if {
	versions := {
		"extensions/v1beta1": "apps/v1",
		"extensions/v1beta1/Ingress": "networking.k8s.io/v1",
		"networking.k8s.io/v1beta1/Ingress": "networking.k8s.io/v1",
	}
	denials := deprecated.deny with input as {"kind": kind, "fields": {"apiVersion": version}}
		with data.sallyport.parameters.api.deprecated as {"versions": versions}
}
