"""Images: images.lock.yaml, definitions, layers, bills of materials, OCI layouts, and the build by apt and pip."""
