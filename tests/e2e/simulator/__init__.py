"""A cluster small enough for a test: runs the objects under out/, as they are, as real processes in namespaces.

Knows nothing of trainc: what it does comes from the sources of Kubernetes 1.34 and JobSet v0.12.0.
"""
