package sallyport.rules.gang.pod_group_test

import data.sallyport.rules.gang.pod_group

ungrouped := {{"path": "metadata.labels", "value": "nvidia.com/gpu"}}

test_refused_without_a_group if {
	every metadata in [{}, {"labels": {"pod-group": ""}}, {"labels": {"pod-group": 5}}, {"labels": {"other": "a"}}] {
		found("containers", "limits", metadata) == ungrouped
	}
}

test_refused_wherever_it_is_asked_for if {
	found("initContainers", "limits", {}) == ungrouped
	found("containers", "requests", {}) == ungrouped
}

test_admitted_grouped if {
	found("containers", "limits", {"labels": {"pod-group": "a"}}) == set()
	found("containers", "limits", {"annotations": {"group-name": "a"}}) == set()
}

test_admitted_without_devices if {
	pod_group.deny == set() with input.fields as {"spec": {"containers": [{}, {"resources": {"limits": {"cpu": "1"}}}]}}
		with data.sallyport.parameters.gang.pod_group as {"keys": ["a"], "resources": ["nvidia.com/gpu"]}
}

found(list, part, metadata) := denials if {
	spec := {list: [{"resources": {part: {"nvidia.com/gpu": 8}}}]}
	parameters := {"keys": ["pod-group", "group-name"], "resources": ["nvidia.com/gpu", "amd.com/gpu"]}
	denials := pod_group.deny with input.fields as {"metadata": metadata, "spec": spec}
		with data.sallyport.parameters.gang.pod_group as parameters
}
