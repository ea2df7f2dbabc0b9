package sallyport.privileges.shared_volume.group_test

import data.sallyport.privileges.shared_volume.group

test_refused_supplemental if {
	group.needs == {
		{
			"privilege": "shared-volume/group/0",
			"path": "spec.securityContext.supplementalGroups[1]",
		},
		{
			"privilege": "shared-volume/group/999",
			"path": "spec.securityContext.supplementalGroups[2]",
		},
	} with input as {
		"securityContext": {"supplementalGroups": [1000, 0, 999]},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_fs_group if {
	group.needs == {{
		"privilege": "shared-volume/group/100",
		"path": "spec.securityContext.fsGroup",
	}} with input as {
		"securityContext": {"fsGroup": 100},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_run_as_group if {
	group.needs == {
		{
			"privilege": "shared-volume/group/0",
			"path": "spec.containers[0].securityContext.runAsGroup",
			"container": "trainer",
		},
		{"privilege": "shared-volume/group/6", "path": "spec.securityContext.runAsGroup"},
	} with input as {
		"securityContext": {"runAsGroup": 6},
		"containers": [
			{
				"path": "spec.containers[0]",
				"name": "trainer",
				"shares": true,
				"securityContext": {"runAsGroup": 0},
			},
			{"path": "spec.containers[1]", "name": "logger", "shares": true},
		],
	}
}

test_refused_outside_of_the_ranges if {
	group.needs == {
		{"privilege": "shared-volume/group/16", "path": "spec.securityContext.fsGroup"},
		{
			"privilege": "shared-volume/group/2000",
			"path": "spec.securityContext.supplementalGroups[1]",
		},
	} with input as {
		"ids": {"groups": [{"first": 1, "last": 5}, {"first": 11, "last": 15}]},
		"securityContext": {
			"runAsGroup": 1,
			"fsGroup": 16,
			"supplementalGroups": [15, 2000],
			"supplementalGroupsPolicy": "Strict",
		},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_image_decides_where_there_is_a_range if {
	group.needs == {
		{"privilege": "shared-volume/group/any", "path": "spec.securityContext.runAsGroup"},
		{
			"privilege": "shared-volume/group/any",
			"path": "spec.securityContext.supplementalGroupsPolicy",
		},
	} with input as {
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_refused_merge_also_where_the_rest_is_filled_in if {
	group.needs == {{
		"privilege": "shared-volume/group/any",
		"path": "spec.securityContext.supplementalGroupsPolicy",
	}} with input as {
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"idsFilled": true,
		"securityContext": {"supplementalGroupsPolicy": "Merge"},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_filled_in if {
	group.needs == set() with input as {
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"idsFilled": true,
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_image_decides if {
	group.needs == set() with input as {
		"securityContext": {"supplementalGroupsPolicy": "Merge"},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_range_of_users_alone if {
	group.needs == set() with input as {
		"ids": {"users": [{"first": 1, "last": 5}]},
		"securityContext": {"fsGroup": 1000},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}

test_admitted_nothing_shared if {
	group.needs == set() with input as {
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"securityContext": {"fsGroup": 0, "supplementalGroups": [0], "runAsGroup": 0},
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_windows if {
	group.needs == set() with input as {
		"os": "windows",
		"ids": {"groups": [{"first": 1, "last": 5}]},
		"containers": [{"path": "spec.containers[0]", "name": "trainer", "shares": true}],
	}
}
