"""Records lives of Pods and changes of objects; reads who can open a store; ends grants."""
