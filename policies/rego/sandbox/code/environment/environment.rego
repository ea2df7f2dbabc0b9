# METADATA
# scope: package
# title: Environment of reinforcement learning
# description: >-
#   In training by reinforcement a model acts in an environment: its actions are commands, pages,
#   programs, chosen to get a reward by whatever way there is, and errors of the environment are
#   among the ways. Told by the name of the image or by a label: rl-env, gymnasium, swe-bench,
#   terminal-bench, osworld and the like. This alone reaches the threshold. An environment that
#   only computes physics is no danger: call it otherwise, or weigh this rule for your site.
# related_resources:
# - ref: https://github.com/kubernetes-sigs/agent-sandbox
#   description: agent-sandbox of Kubernetes SIG Apps
# - ref: https://genai.owasp.org/llmrisk/llm062025-excessive-agency/
#   description: OWASP LLM06:2025, Excessive Agency
# - ref: https://attack.mitre.org/techniques/T1611/
#   description: MITRE ATT&CK T1611, Escape to Host
# - ref: https://gvisor.dev/docs/user_guide/production/
#   description: 'gVisor, Production guide: untrusted code and code of third parties'
# schemas:
# - input: schema.projection
# custom:
#   since: 1
#   points: 50
#   message: lets a model in training act ({value})
#   remedy: >-
#     Run it in the sandbox. Keep the accelerator of the policy in another Pod: environments
#     seldom need one.
package sallyport.sandbox.code.environment

import data.sallyport.lib

signals contains lib.hinted(hint) if {
	some hint in input.hints
	hint.kind == "environment"
}
