"""The tests of admission policies: what a file of them says, and whether the policies given agree."""
