package sallyport.rules.pods.bare_test

import data.sallyport.rules.pods.bare

bare_pod := {{"path": "metadata.ownerReferences", "value": "no controller"}}

test_refused_without_a_controller if {
	every owners in [[], [{}], [{"controller": false}], "junk", {"controller": true}, [{"controller": "true"}]] {
		found({"namespace": "research", "ownerReferences": owners}, "human") == bare_pod
	}
	found({"namespace": "research"}, "controller") == bare_pod
}

test_admitted_with_a_controller if {
	owners := [{"controller": false}, {"controller": true}]
	found({"namespace": "research", "ownerReferences": owners}, "controller") == set()
}

test_admitted_template if found({}, "human") == set()

test_admitted_static_pod if found({"namespace": "research"}, "node") == set()

found(metadata, requester) := denials if {
	denials := bare.deny with input as {
		"context": {"requester": requester},
		"fields": {"metadata": metadata},
	}
}
