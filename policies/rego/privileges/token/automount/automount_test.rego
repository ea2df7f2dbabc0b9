package sallyport.privileges.token.automount_test

import data.sallyport.privileges.token.automount

test_refused_unset if {
	automount.needs == {{
		"privilege": "token/automount",
		"path": "spec.automountServiceAccountToken",
	}} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}

test_refused_true if {
	automount.needs == {{
		"privilege": "token/automount",
		"path": "spec.automountServiceAccountToken",
	}} with input as {
		"automount": true,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_refused_token_by_hand if {
	automount.needs == {{
		"privilege": "token/automount",
		"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
	}} with input as {
		"automount": false,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
			}],
		}],
	}
}

test_refused_token_of_automounting_once if {
	automount.needs == {{
		"privilege": "token/automount",
		"path": "spec.automountServiceAccountToken",
	}} with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
			}],
		}],
	}
}

test_admitted_false if {
	automount.needs == set() with input as {
		"automount": false,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_token_for_another if {
	automount.needs == set() with input as {
		"automount": false,
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["projected"],
			"tokens": [{
				"path": "spec.volumes[0].projected.sources[0].serviceAccountToken.audience",
				"audience": "vault",
			}],
		}],
	}
}

test_admitted_no_pod if {
	automount.needs == set() with input as {
		"containers": [],
		"object": {"kind": "CSIDriver", "name": "a"},
	}
}

test_admitted_persistent_volume if {
	automount.needs == set() with input as {
		"containers": [],
		"volumes": [{"path": "spec", "types": ["nfs"]}],
	}
}
