package sallyport.rules.topology.required_test

import data.sallyport.rules.topology.required

test_refused_many if {
	every counts in [[8], ["8"], ["1", 7], ["16"], ["1k"], [{}], ["8.0"], [-1], [0.5]] {
		some denial in found(counts, {}, [])
		denial.path == "metadata.annotations"
	}
	found([4, "4"], {}, []) == {{"path": "metadata.annotations", "value": "8"}}
}

test_refused_no_level if {
	every level in ["", 5, "host"] {
		count(found([8], {"annotations": {"topology": level}}, ["rack"])) == 1
	}
}

test_refused_init_container if {
	count(required.deny) == 1 with input.fields as {"spec": {"initContainers": [container(8)]}}
		with data.sallyport.parameters.topology.required as parameters([])
}

test_admitted_few if {
	found([7], {}, []) == set()
	found(["1", 2, "4"], {}, []) == set()
	found([], {}, []) == set()
}

test_admitted_placed if {
	found([8], {"annotations": {"topology": "rack"}}, ["rack"]) == set()
	found([8], {"labels": {"topology": "anything"}}, []) == set()
}

test_admitted_other_resources if {
	required.deny == set() with input.fields as {"spec": {"containers": [{"resources": {"limits": {"cpu": 64}}}, {}]}}
		with data.sallyport.parameters.topology.required as parameters([])
}

parameters(levels) := {"keys": ["topology"], "levels": levels, "resources": ["nvidia.com/gpu"], "from": 8}

container(asked) := {"resources": {"limits": {"nvidia.com/gpu": asked, "cpu": "100"}}}

found(counts, metadata, levels) := denials if {
	containers := [container(asked) | some asked in counts]
	denials := required.deny with input.fields as {"metadata": metadata, "spec": {"containers": containers}}
		with data.sallyport.parameters.topology.required as parameters(levels)
}
