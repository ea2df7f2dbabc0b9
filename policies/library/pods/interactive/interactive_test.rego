package sallyport.rules.pods.interactive_test

import data.sallyport.rules.pods.interactive

test_refused_container_of_each_sort if {
	every list in ["containers", "initContainers"] {
		found({list: [{}, {"name": "main", "stdin": true, "tty": true}]}) == {{
			"path": concat("", ["spec.", list, "[1].tty"]),
			"container": "main",
		}}
	}
}

test_refused_of_another_type if {
	every value in ["true", 1, {"a": 1}] {
		count(found({"containers": [{"stdin": value, "tty": value}]})) == 1
	}
}

test_admitted_one_of_both if {
	every container in [{}, {"stdin": true}, {"tty": true}, {"stdin": true, "tty": false}] {
		found({"containers": [container]}) == set()
	}
}

test_admitted_ephemeral_container if {
	found({"ephemeralContainers": [{"name": "debug", "stdin": true, "tty": true}]}) == set()
}

found(spec) := denials if {
	denials := interactive.deny with input.fields.spec as spec
}
