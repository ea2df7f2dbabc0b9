# METADATA
# scope: package
# title: No limit of CPU or memory
# description: >-
#   Nothing keeps the container from taking all of the node: what miners and fork bombs do to its
#   neighbours. Few points: it hurts availability, and a sandbox does not help much against it.
#   Found by the rule privileges/limits/unset.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1496/001/
#   description: MITRE ATT&CK T1496.001, Compute Hijacking
# - ref: https://attack.mitre.org/techniques/T1499/
#   description: MITRE ATT&CK T1499, Endpoint Denial of Service
# - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#   description: NSA and CISA, Kubernetes Hardening Guide 1.2
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 5
#   message: has no limit of {value}
#   remedy: >-
#     Set resources.limits of cpu and memory.
package sallyport.sandbox.exposure.unlimited

import data.sallyport.lib
import data.sallyport.privileges.limits.unset

signals contains lib.needed(need, substring(need.privilege, count("limits/unset/"), -1)) if {
	some need in unset.needs
}
