package sallyport.privileges.exec.interactive_test

import data.sallyport.privileges.exec.interactive

test_refused_terminal if {
	interactive.needs == {{"privilege": "exec/interactive", "path": "tty"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "bash", "tty": true}}
}

test_refused_input if {
	interactive.needs == {{"privilege": "exec/interactive", "path": "stdin"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "tar", "stdin": true}}
}

test_admitted_command if {
	interactive.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "nvidia-smi"}}
}

test_admitted_attach if {
	interactive.needs == set() with input as {"containers": [], "object": {"kind": "PodAttachOptions", "stdin": true}}
}

test_admitted_pod if {
	interactive.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
