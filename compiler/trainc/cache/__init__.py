"""What a run leaves for the next one: results by content, and how files looked. Safe to delete at any time.

``store.py`` is the file and its folder, ``stamps.py`` how a file is known to be unchanged, ``jobs.py`` what is known
of jobs, ``reading.py`` how jobs/ is read with it, ``tool.py`` what makes results another program's.
"""
