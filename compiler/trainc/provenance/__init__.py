"""Where each field of an object came from."""
