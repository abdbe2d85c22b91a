"""What the node of the simulator must do, each case a function that runs isolated: see bench.py and test_node.py."""
