package sallyport.privileges.volume.host_path_test

import data.sallyport.privileges.volume.host_path

test_refused_read_write if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/var/log",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/var/log"},
		}],
	}
}

test_refused_read_only if {
	host_path.needs == {{
		"privilege": "volume/hostPath:ro/var/log",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/var/log", "readOnly": true},
		}],
	}
}

test_refused_root if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/%2F",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/"},
		}],
	}
}

test_refused_root_read_only if {
	host_path.needs == {{
		"privilege": "volume/hostPath:ro/%2F",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "//./", "readOnly": true},
		}],
	}
}

test_refused_untidy if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/var/log",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/var//./log/"},
		}],
	}
}

test_refused_backwards if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/%2E%2E/var/%2E%2E/etc",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/var/../etc"},
		}],
	}
}

test_refused_odd_characters if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/a%20b/%2A%2A",
		"path": "spec.volumes[0].hostPath",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0]",
			"types": ["hostPath"],
			"hostPath": {"path": "/a b/**"},
		}],
	}
}

test_refused_path_missing if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/%2F",
		"path": "spec.volumes[0].hostPath",
	}} with input as {"volumes": [{"path": "spec.volumes[0]", "types": ["hostPath"]}]}
}

test_admitted_none if {
	host_path.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other_type if {
	host_path.needs == set() with input as {
		"volumes": [{"path": "spec.volumes[0]", "types": ["nfs"]}],
	}
}

test_refused_claim_that_is_bound_to_one if {
	host_path.needs == {{
		"privilege": "volume/hostPath:rw/data",
		"path": "spec.volumes[0].persistentVolumeClaim",
	}} with input as {
		"volumes": [{
			"path": "spec.volumes[0].persistentVolumeClaim",
			"types": ["hostPath"],
			"hostPath": {"path": "/data"},
		}],
	}
}

test_refused_persistent_volume if {
	host_path.needs == {{"privilege": "volume/hostPath:rw/data", "path": "spec.hostPath"}} with input as {
		"containers": [],
		"volumes": [{"path": "spec", "types": ["hostPath"], "hostPath": {"path": "/data"}}],
	}
}

test_refused_local_persistent_volume if {
	host_path.needs == {{"privilege": "volume/hostPath:rw/data", "path": "spec.local"}} with input as {
		"containers": [],
		"volumes": [{"path": "spec.local", "types": ["hostPath"], "hostPath": {"path": "/data"}}],
	}
}
