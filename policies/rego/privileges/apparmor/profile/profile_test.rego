package sallyport.privileges.apparmor.profile_test

import data.sallyport.privileges.apparmor.profile

test_refused_container if {
	profile.needs == {{
		"privilege": "apparmor/unconfined",
		"path": "spec.containers[0].securityContext.appArmorProfile.type",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"appArmorProfile": {"type": "Unconfined"}},
		}],
	}
}

test_refused_pod if {
	profile.needs == {{
		"privilege": "apparmor/unconfined",
		"path": "spec.securityContext.appArmorProfile.type",
	}} with input as {
		"securityContext": {"appArmorProfile": {"type": "Unconfined"}},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_other_text if {
	profile.needs == {
		{
			"privilege": "apparmor/other/a%2Fb",
			"path": "spec.containers[0].securityContext.appArmorProfile.type",
			"container": "trainer",
		},
		{"privilege": "apparmor/other/%00", "path": "spec.securityContext.appArmorProfile.type"},
	} with input as {
		"securityContext": {"appArmorProfile": {}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"appArmorProfile": {"type": "a/b"}},
		}],
	}
}

test_refused_capitals if {
	profile.needs == {{
		"privilege": "apparmor/other/UNCONFINED",
		"path": "spec.containers[0].securityContext.appArmorProfile.type",
		"container": "trainer",
	}} with input as {
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"appArmorProfile": {"type": "UNCONFINED"}},
		}],
	}
}

test_refused_annotation if {
	profile.needs == {{
		"privilege": "apparmor/unconfined",
		"path": "metadata.annotations['container.apparmor.security.beta.kubernetes.io/trainer']",
	}} with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "unconfined"},
	}
}

test_refused_annotation_other if {
	profile.needs == {{
		"privilege": "apparmor/other/runtime%2Fother",
		"path": "metadata.annotations['container.apparmor.security.beta.kubernetes.io/trainer']",
	}} with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "runtime/other"},
	}
}

test_refused_annotation_local if {
	profile.needs == {{
		"privilege": "apparmor/other/localhost",
		"path": "metadata.annotations['container.apparmor.security.beta.kubernetes.io/trainer']",
	}} with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "localhost"},
	}
}

test_admitted_unset if {
	profile.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_confined if {
	profile.needs == set() with input as {
		"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": "p"}},
		}],
	}
}

test_admitted_annotation_empty if {
	profile.needs == set() with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": ""},
	}
}

test_admitted_annotation_default if {
	profile.needs == set() with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "runtime/default"},
	}
}

test_admitted_annotation_local if {
	profile.needs == set() with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "localhost/p"},
	}
}

test_admitted_other_annotation if {
	profile.needs == set() with input as {"annotations": {"example.com/x": "unconfined"}}
}
