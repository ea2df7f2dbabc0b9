# METADATA
# scope: package
# title: Data of a customer
# description: >-
#   The namespace holds the training data of one customer, and the Pod mounts a volume that other
#   machines hold: what breaks out of it could carry that customer's data away.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1530/
#   description: MITRE ATT&CK T1530, Data from Cloud Storage
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   points: 25
#   message: reads data of the customer {value}
#   remedy: >-
#     Work on a sample without the customer's data, in a namespace without the label
#     example.com/customer.
package sallyport.sandbox.customer_data.training

import data.site.volumes

signals contains {"path": volume.path, "value": customer} if {
	customer := input.context.namespaceLabels["example.com/customer"]
	some volume in input.projection.volumes
	volumes.remote(volume.types)
}
