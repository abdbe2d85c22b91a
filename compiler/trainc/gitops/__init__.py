"""The passes of default output: additions for a tree in git that a controller does not need."""
