package sallyport.rules.pods.users_test

import data.sallyport.rules.pods.users

fine := {"runAsUser": 1000, "runAsGroup": 2000}

test_refused_user_of_a_container if {
	every user in [0, 999, 1100, "1000", true, [1000], -1] {
		found([{"name": "main", "securityContext": {"runAsUser": user}}], fine) == {{
			"path": "spec.containers[0].securityContext.runAsUser",
			"value": concat("", ["runAsUser=", json.marshal(user)]),
			"container": "main",
		}}
	}
}

test_refused_group_of_the_pod if {
	found([{"name": "main"}], {"runAsUser": 1000, "runAsGroup": 0}) == {{
		"path": "spec.securityContext.runAsGroup",
		"value": "runAsGroup=0",
	}}
}

test_refused_groups_of_volumes if {
	found([], {"fsGroup": 5, "supplementalGroups": [2000, 5]}) == {
		{"path": "spec.securityContext.fsGroup", "value": "fsGroup=5"},
		{"path": "spec.securityContext.supplementalGroups", "value": "supplementalGroups=[2000,5]"},
	}
	every groups in ["2000", 2000, ["2000"], {"a": 2000}] {
		count(found([], {"supplementalGroups": groups})) == 1
	}
}

test_refused_unset if {
	every context in [{}, {"runAsNonRoot": true}] {
		found([{"name": "main"}], context) == {
			{
				"path": "spec.containers[0].securityContext.runAsUser",
				"value": "runAsUser",
				"message": "leaves runAsUser to its image",
				"container": "main",
			},
			{
				"path": "spec.containers[0].securityContext.runAsGroup",
				"value": "runAsGroup",
				"message": "leaves runAsGroup to its image",
				"container": "main",
			},
		}
	}
}

test_refused_other_containers if {
	every list in ["initContainers", "ephemeralContainers"] {
		count(users.deny) == 2 with input.fields.spec as {list: [{"securityContext": fine}, {}]}
			with data.sallyport.parameters.pods.users as parameters(false, [{"from": 0, "to": 9999}])
	}
}

test_refused_user_although_groups_are_free if {
	count(users.deny) == 1 with input.fields.spec as {"containers": [{"securityContext": {"runAsUser": 7}}]}
		with data.sallyport.parameters.pods.users as parameters(true, [])
}

test_admitted_within if {
	every user in [1000, 1050, 1099] {
		context := {"runAsUser": user, "runAsGroup": 2000, "fsGroup": 2000, "supplementalGroups": [2000]}
		found([{"name": "main"}], context) == set()
		found([{"name": "main", "securityContext": {"runAsUser": user}}], fine) == set()
	}
}

test_admitted_any_group if {
	spec := {"securityContext": {"runAsUser": 1000, "fsGroup": 1, "supplementalGroups": [1]}}
	users.deny == set() with input.fields.spec as object.union(spec, {"containers": [{"name": "main"}]})
		with data.sallyport.parameters.pods.users as parameters(false, [])
}

test_admitted_left_to_the_image if {
	users.deny == set() with input.fields.spec as {"containers": [{"name": "main"}]}
		with data.sallyport.parameters.pods.users as parameters(true, [{"from": 2000, "to": 2000}])
}

parameters(unset, groups) := {
	"users": [{"from": 1000, "to": 1049}, {"from": 1050, "to": 1099}],
	"groups": groups,
	"unset": unset,
}

found(containers, context) := denials if {
	denials := users.deny with input.fields.spec as {"containers": containers, "securityContext": context}
		with data.sallyport.parameters.pods.users as parameters(false, [{"from": 2000, "to": 2000}])
}
