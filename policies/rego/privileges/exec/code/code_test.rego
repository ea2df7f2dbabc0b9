package sallyport.privileges.exec.code_test

import data.sallyport.privileges.exec.code

test_refused_shell if {
	code.needs == {{"privilege": "exec/code/sh", "path": "command"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "sh", "arguments": true}}
}

test_refused_version if {
	code.needs == {{"privilege": "exec/code/python", "path": "command"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "python3.12", "arguments": true}}
}

test_refused_elsewhere if {
	code.needs == {{"privilege": "exec/code/busybox", "path": "command"}} with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "/opt/tools/busybox", "arguments": true}}
}

test_admitted_shell_without_arguments if {
	code.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "sh"}}
}

test_admitted_other_program if {
	code.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions", "command": "nvidia-smi", "arguments": true}}
}

test_admitted_no_command if {
	code.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions", "arguments": true}}
}

test_admitted_pod if {
	code.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
