"""Makes random cases: whole texts of documents, mostly valid, always the same for one seed and index."""
