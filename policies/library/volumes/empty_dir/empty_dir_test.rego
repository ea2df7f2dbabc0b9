package sallyport.rules.volumes.empty_dir_test

import data.sallyport.rules.volumes.empty_dir

unbounded := {{"path": "spec.volumes[1].emptyDir.sizeLimit", "value": "a"}}

test_refused_absent if {
	every source in [{}, {"medium": ""}, {"medium": "Memory"}] {
		found(source, ["", "Memory"]) == unbounded
	}
}

test_refused_none_and_of_another_type if {
	every size in ["0", 0, "", "0Gi", "-1", -1, true, [1]] {
		found({"sizeLimit": size}, [""]) == unbounded
	}
}

test_refused_medium_of_another_type if found({"medium": 5}, ["Memory"]) == unbounded

test_refused_source_of_another_type if found("x", [""]) == unbounded

test_refused_name_of_another_type if {
	count(empty_dir.deny) == 1 with input.fields.spec as {"volumes": [{"name": 5, "emptyDir": {}}]}
		with data.sallyport.parameters.volumes.empty_dir as {"mediums": [""]}
}

test_admitted_bounded if {
	every size in ["1Gi", 1000, "0.5Gi"] {
		found({"sizeLimit": size, "medium": "Memory"}, ["", "Memory"]) == set()
	}
}

test_admitted_other_mediums if {
	found({}, ["Memory"]) == set()
	found({"medium": "HugePages-2Mi"}, ["", "Memory"]) == set()
}

test_admitted_other_volumes if {
	empty_dir.deny == set() with input.fields.spec as {"volumes": [{"name": "a"}]}
		with data.sallyport.parameters.volumes.empty_dir as {"mediums": [""]}
}

found(source, mediums) := denials if {
	denials := empty_dir.deny with input.fields.spec as {"volumes": [{}, {"name": "a", "emptyDir": source}]}
		with data.sallyport.parameters.volumes.empty_dir as {"mediums": mediums}
}
