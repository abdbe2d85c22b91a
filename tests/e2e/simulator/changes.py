"""One place where everything on a node says that something changed, and where everybody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

_LOOK: Final = 0.1


class Changes:
    """A count of changes. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._version = 0

    @property
    def version(self) -> int:
        """How many there were so far."""
        return self._version

    def tell(self) -> None:
        """Say that something changed."""
        with self._condition:
            self._version += 1
            self._condition.notify_all()

    def after(self, seen: int, timeout: float) -> int:
        """Wait until there are more than ``seen``, at most so many seconds; return how many there are."""
        with self._condition:
            self._condition.wait_for(lambda: self._version != seen, max(timeout, 0))
            return self._version

    def until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds; False if it does not in so many seconds.

        It is looked at after every change, and now and then between them: it may depend on something else too.
        """
        end = time.monotonic() + timeout
        while True:
            seen = self._version
            if condition():
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            self.after(seen, min(left, _LOOK))
