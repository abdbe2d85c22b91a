"""Definitions of Kubernetes: quantities, names, Go's decoding and encoding of objects, strategic merge."""
