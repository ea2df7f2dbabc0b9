# METADATA
# scope: package
# title: Script from the network
# description: >-
#   The container gives a shell or an interpreter what it has just got from the network (curl … |
#   sh, bash <(wget …), a download that is made executable), or what it has decoded (base64 -d |
#   sh): the code is in no image and in no object, and is another one for the next Pod. Told by
#   command, args and lifecycle.postStart.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1105/
#   description: MITRE ATT&CK T1105, Ingress Tool Transfer
# - ref: https://attack.mitre.org/techniques/T1059/004/
#   description: MITRE ATT&CK T1059.004, Unix Shell
# - ref: https://attack.mitre.org/techniques/T1027/
#   description: MITRE ATT&CK T1027, Obfuscated Files or Information
# - ref: https://media.defense.gov/2022/Aug/29/2003066362/-1/-1/0/CTR_KUBERNETES_HARDENING_GUIDANCE_1.2_20220829.PDF
#   description: NSA and CISA, Kubernetes Hardening Guide 1.2
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 40
#   message: runs a script that it gets when it starts ({value})
#   remedy: >-
#     Put the script into the image, or into a ConfigMap of the namespace, and run that.
package sallyport.sandbox.code.remote_script

signals contains entry if {
	some container in input.containers
	some tool in container.scripts
	entry := {"path": container.path, "value": tool, "container": container.name}
}
