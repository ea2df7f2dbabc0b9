# METADATA
# scope: package
# title: Token for the API server
# description: >-
#   The token of the service account lies in the container: whoever breaks out of the program, or
#   types into it, can do what the account may. Counted whatever the profile allows, since few
#   workloads need it and the default gives it to all. Found by the rule
#   privileges/token/automount.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1528/
#   description: MITRE ATT&CK T1528, Steal Application Access Token
# - ref: https://attack.mitre.org/techniques/T1552/007/
#   description: MITRE ATT&CK T1552.007, Container API
# - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#   description: NSA and CISA, Kubernetes Hardening Guide 1.2
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 10
#   message: holds its service account's token for the API server
#   remedy: >-
#     Set spec.automountServiceAccountToken: false.
package sallyport.sandbox.identity.token

import data.sallyport.lib
import data.sallyport.privileges.token.automount

signals contains lib.needed(need, "") if some need in automount.needs
