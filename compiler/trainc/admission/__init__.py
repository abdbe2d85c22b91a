"""Admission: schemas of CRDs and rules of webhooks, for inputs and for generated objects."""
