# METADATA
# scope: package
# title: Image that can change
# description: >-
#   No digest fixes the image: what was reviewed and scanned is not what runs the next day.
#   Counted whatever the profile allows: it says how well the code is known, and every sandbox
#   runs it. Found by the rule privileges/image/digest.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1525/
#   description: MITRE ATT&CK T1525, Implant Internal Image
# - ref: https://csrc.nist.gov/pubs/sp/800/190/final
#   description: NIST SP 800-190, Application Container Security Guide
# - ref: https://kubernetes.io/docs/concepts/containers/images/#image-names
#   description: Kubernetes documentation
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 10
#   message: runs an image whose content can change
#   remedy: >-
#     Write the digest behind the image's name.
package sallyport.sandbox.code.unpinned_image

import data.sallyport.lib
import data.sallyport.privileges.image.digest

signals contains lib.needed(need, "") if some need in digest.needs
