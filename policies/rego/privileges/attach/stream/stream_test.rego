package sallyport.privileges.attach.stream_test

import data.sallyport.privileges.attach.stream

test_refused_terminal if {
	stream.needs == {{"privilege": "attach/interactive", "path": "tty"}} with input as {"containers": [], "object": {"kind": "PodAttachOptions", "tty": true}}
}

test_refused_input if {
	stream.needs == {{"privilege": "attach/interactive", "path": "stdin"}} with input as {"containers": [], "object": {"kind": "PodAttachOptions", "stdin": true}}
}

test_refused_output if {
	stream.needs == {{"privilege": "attach/output", "path": ""}} with input as {"containers": [], "object": {"kind": "PodAttachOptions"}}
}

test_admitted_exec if {
	stream.needs == set() with input as {"containers": [], "object": {"kind": "PodExecOptions", "stdin": true}}
}

test_admitted_pod if {
	stream.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
