"""The origins of the fields of objects."""
