"""Kubernetes' CEL: grammar, types, runner and libraries. Expressions only: rules and policies live in admit/."""
