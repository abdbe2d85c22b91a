"""What Kubernetes itself defines: quantities, names, Go's reading and writing of objects, merging, plain scalars."""
