"""What a run stores for the next one. It is safe to delete at any time, and changes nothing but the time a run takes.

``store.py`` keeps values of this trainc for one repository: how its files looked (``snapshot.py``), the jobs compiled
(``jobs.py``), and what `trainc build` printed (``results.py``). ``run.py`` is how a run reads and extends them.
"""
