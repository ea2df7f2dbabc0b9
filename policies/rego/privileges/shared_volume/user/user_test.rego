package sallyport.privileges.shared_volume.user_test

import data.sallyport.privileges.shared_volume.user

test_refused_root_of_container if {
	user.needs == {{
		"privilege": "shared-volume/user/0",
		"path": "spec.containers[0].securityContext.runAsUser",
		"container": "trainer",
	}} with input as {
		"securityContext": {"runAsUser": 1000},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"shares": true,
			"securityContext": {"runAsUser": 0},
		}],
	}
}

test_refused_root_of_pod if {
	user.needs == {{
		"privilege": "shared-volume/user/0",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"securityContext": {"runAsUser": 0},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_root_in_user_namespace if {
	user.needs == {{
		"privilege": "shared-volume/user/0",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"hostUsers": false,
		"securityContext": {"runAsUser": 0},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_image_decides if {
	user.needs == {{
		"privilege": "shared-volume/user/any",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_container_allows_root if {
	user.needs == {{
		"privilege": "shared-volume/user/any",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"securityContext": {"runAsNonRoot": true},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"shares": true,
			"securityContext": {"runAsNonRoot": false},
		}],
	}
}

test_refused_outside_of_the_range if {
	user.needs == {
		{
			"privilege": "shared-volume/user/1000679999",
			"path": "spec.containers[0].securityContext.runAsUser",
			"container": "trainer",
		},
		{"privilege": "shared-volume/user/1000690000", "path": "spec.securityContext.runAsUser"},
	} with input as {
		"ids": {"users": [{"first": 1000680000, "last": 1000689999}]},
		"securityContext": {"runAsUser": 1000690000},
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "trainer",
				"shares": true,
				"securityContext": {"runAsUser": 1000679999},
			},
			{"path": "spec.containers[1]", "name": "logger", "shares": true},
		],
	}
}

test_refused_none_where_there_is_a_range if {
	user.needs == {{
		"privilege": "shared-volume/user/any",
		"path": "spec.securityContext.runAsUser",
	}} with input as {
		"ids": {"users": [{"first": 1000680000, "last": 1000689999}]},
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_none_that_is_filled_in if {
	user.needs == set() with input as {
		"ids": {"users": [{"first": 1000680000, "last": 1000689999}]},
		"idsFilled": true,
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_first_and_last_of_the_range if {
	user.needs == set() with input as {
		"ids": {"users": [{"first": 1, "last": 5}]},
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "trainer",
				"shares": true,
				"securityContext": {"runAsUser": 1},
			},
			{
				"path": "spec.containers[1]",
				"name": "logger",
				"shares": true,
				"securityContext": {"runAsUser": 5},
			},
		],
	}
}

test_admitted_non_root if {
	user.needs == set() with input as {
		"securityContext": {"runAsNonRoot": true},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_range_of_groups_alone if {
	user.needs == set() with input as {
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"securityContext": {"runAsUser": 7},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_root_that_mounts_nothing_shared if {
	user.needs == set() with input as {
		"securityContext": {"runAsUser": 0},
		"containers": [
			{"path": "spec.containers[0]", "name": "init"},
			{
				"path": "spec.containers[1]",
				"name": "trainer",
				"shares": true,
				"securityContext": {"runAsUser": 1000},
			},
		],
	}
}

test_admitted_windows if {
	user.needs == set() with input as {
		"os": "windows",
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}
