"""Admission: schemas of CRDs and the rules of webhooks, for what is read and for what is made."""
