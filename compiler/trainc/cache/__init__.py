"""The cache: results that a run stores for the next one. It saves time only, and is safe to delete at any time.

``store.py`` stores values per trainc version and repository: digests and stamps of files (``snapshot.py``), compiled
jobs (``jobs.py``), and the output of `trainc build` (``results.py``). ``run.py`` reads and extends them in a run.
"""
