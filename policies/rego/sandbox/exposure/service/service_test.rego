package sallyport.sandbox.exposure.service_test

import data.sallyport.sandbox.exposure.service

test_riskier_each if {
	service.signals == {
		{"path": "metadata.labels", "value": "api"},
		{"path": "metadata.labels", "value": "web"},
	} with input as {"context": {"services": ["api", "web"]}}
}

test_ordinary_none if {
	service.signals == set() with input as {"context": {"services": []}}
}
