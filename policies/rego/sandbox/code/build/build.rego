# METADATA
# scope: package
# title: Runner of builds and tests
# description: >-
#   A runner of continuous integration builds and tests changes before they are merged: whoever
#   may propose a change runs code there, with the runner's credentials and its network. Told by
#   the name of the image or by a label: actions-runner, gitlab-runner, kaniko, buildkit, Tekton
#   and the like.
# related_resources:
# - ref: https://attack.mitre.org/techniques/T1195/002/
#   description: MITRE ATT&CK T1195.002, Compromise Software Supply Chain
# - ref: https://docs.github.com/en/actions/reference/security/secure-use
#   description: 'GitHub, Secure use: self-hosted runners'
# - ref: https://gvisor.dev/docs/user_guide/production/
#   description: 'gVisor, Production guide: untrusted code and code of third parties'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 40
#   message: builds or tests code that is not merged yet ({value})
#   remedy: >-
#     Run it in the sandbox; give it no token of the API server, and an image of your own registry
#     by digest.
package sallyport.sandbox.code.build

import data.sallyport.lib

signals contains lib.hinted(hint) if {
	some hint in input.hints
	hint.kind == "build"
}
