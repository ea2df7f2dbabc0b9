package sallyport.sandbox.behaviour.new_cluster_test

import data.sallyport.sandbox.behaviour.new_cluster

test_riskier_among_others if {
	new_cluster.signals == {{"path": "", "value": ""}} with input as {"context": {"behaviour": [
		"new-namespace",
		"new-cluster",
	]}}
}

test_ordinary_other if {
	new_cluster.signals == set() with input as {"context": {"behaviour": ["new-namespace"]}}
}

test_ordinary_nothing if {
	new_cluster.signals == set() with input as {"context": {"behaviour": []}}
}
