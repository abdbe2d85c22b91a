"""CustomResourceDefinitions that a user gives: what an API server refuses of one, and the kinds that it defines."""

from trainc.schema.definition.define import Definition, define

__all__ = ["Definition", "define"]
