package sallyport.privileges.scheduling.priority_test

import data.sallyport.privileges.scheduling.priority

test_refused_system if {
	priority.needs == {{
		"privilege": "scheduling/priority/system-node-critical",
		"path": "spec.priorityClassName",
	}} with input as {"priorityClass": "system-node-critical"}
}

test_refused_system_of_ones_own if {
	priority.needs == {{
		"privilege": "scheduling/priority/system-a%20b",
		"path": "spec.priorityClassName",
	}} with input as {"priorityClass": "system-a b"}
}

test_refused_class if {
	priority.needs == {{
		"privilege": "scheduling/priority/a",
		"path": "metadata.name",
	}} with input as {"containers": [], "object": {"kind": "PriorityClass", "name": "a"}}
}

test_refused_class_without_name if {
	priority.needs == {{
		"privilege": "scheduling/priority/%00",
		"path": "metadata.name",
	}} with input as {"containers": [], "object": {"kind": "PriorityClass"}}
}

test_refused_default_class if {
	priority.needs == {
		{"privilege": "scheduling/priority/a", "path": "metadata.name"},
		{"privilege": "scheduling/priority-default", "path": "globalDefault"},
	} with input as {
		"containers": [],
		"object": {"kind": "PriorityClass", "name": "a", "globalDefault": true},
	}
}

test_admitted_none if {
	priority.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_other if {
	priority.needs == set() with input as {"priorityClass": "batch-low"}
}

test_admitted_system_elsewhere if {
	priority.needs == set() with input as {"priorityClass": "no-system-class"}
}

test_admitted_other_kind if {
	priority.needs == set() with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass", "name": "a"},
	}
}
