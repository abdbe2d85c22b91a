"""Go's sort.Slice, swap for swap: it is not stable, so which of two equal elements comes first follows from it alone.

Source: Go's package sort (pdqsort, the same since Go 1.19). Lists of up to twelve are sorted by insertion.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

_INSERTION, _NINTHER, _SHIFTING = 12, 50, 50
_SWAPS_OF_DECREASING, _SHIFTS = 12, 5
_WORD = 2**64 - 1


def sort_indexes(size: int, less: Callable[[int, int], bool]) -> list[int]:
    """Return the order of elements 0 to size - 1; less tells whether one element comes before another."""
    sorter = _Sorter(list(range(size)), less)
    sorter.sort(0, size, size.bit_length())
    return sorter.items


class _Sorter(Struct):
    """The elements in their present order; places below are places in it."""

    items: list[int]
    before: Callable[[int, int], bool]

    def less(self, one: int, other: int) -> bool:
        return self.before(self.items[one], self.items[other])

    def swap(self, one: int, other: int) -> None:
        self.items[one], self.items[other] = self.items[other], self.items[one]

    def sort(self, begin: int, end: int, limit: int) -> None:
        """Sort the places from begin up to end, with limit bad pivots allowed."""
        balanced = partitioned = True
        while (length := end - begin) > _INSERTION:
            if limit == 0:
                self.heap_sort(begin, end)
                return
            if not balanced:
                self.break_patterns(begin, end)
                limit -= 1
            pivot, swaps = self.choose_pivot(begin, end)
            increasing = swaps == 0
            if swaps == _SWAPS_OF_DECREASING:
                self.items[begin:end] = self.items[begin:end][::-1]
                pivot, increasing = end - 1 - (pivot - begin), True
            if balanced and partitioned and increasing and self.partial_insertion_sort(begin, end):
                return
            if begin > 0 and not self.less(begin - 1, pivot):
                begin = self.partition_equal(begin, end, pivot)
                continue
            middle, partitioned = self.partition(begin, end, pivot)
            left, right = middle - begin, end - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(begin, middle, limit)
                begin = middle + 1
            else:
                self.sort(middle + 1, end, limit)
                end = middle
        self.insertion_sort(begin, end)

    def insertion_sort(self, begin: int, end: int) -> None:
        for place in range(begin + 1, end):
            while place > begin and self.less(place, place - 1):
                self.swap(place, place - 1)
                place -= 1  # noqa: PLW2901 - the element moves down

    def heap_sort(self, begin: int, end: int) -> None:
        size = end - begin
        for root in range((size - 1) // 2, -1, -1):
            self.sift_down(root, size, begin)
        for last in range(size - 1, -1, -1):
            self.swap(begin, begin + last)
            self.sift_down(0, last, begin)

    def sift_down(self, root: int, size: int, first: int) -> None:
        while (child := 2 * root + 1) < size:
            if child + 1 < size and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def partition(self, begin: int, end: int, pivot: int) -> tuple[int, bool]:
        """Put what is less than the pivot before it: where that then is, and whether all was so already."""
        self.swap(begin, pivot)
        low, high, first = begin + 1, end - 1, True
        while True:
            while low <= high and self.less(low, begin):
                low += 1
            while low <= high and not self.less(high, begin):
                high -= 1
            if low > high:
                self.swap(high, begin)
                return high, first
            self.swap(low, high)
            low, high, first = low + 1, high - 1, False

    def partition_equal(self, begin: int, end: int, pivot: int) -> int:
        """Put what equals the pivot first, none being less: where the rest then begins."""
        self.swap(begin, pivot)
        low, high = begin + 1, end - 1
        while True:
            while low <= high and not self.less(begin, low):
                low += 1
            while low <= high and self.less(begin, high):
                high -= 1
            if low > high:
                return low
            self.swap(low, high)
            low, high = low + 1, high - 1

    def partial_insertion_sort(self, begin: int, end: int) -> bool:
        """Repair a few neighbours in the wrong order; tell whether all is sorted then."""
        place = begin + 1
        for _ in range(_SHIFTS):
            while place < end and not self.less(place, place - 1):
                place += 1
            if place == end:
                return True
            if end - begin < _SHIFTING:
                return False
            self.swap(place, place - 1)
            if place - begin >= 2:
                self.shift(range(place - 1, 0, -1))
            if end - place >= 2:
                self.shift(range(place + 1, end))
        return False

    def shift(self, places: range) -> None:
        for place in places:
            if not self.less(place, place - 1):
                return
            self.swap(place, place - 1)

    def break_patterns(self, begin: int, end: int) -> None:
        length = end - begin
        random, mask = length, (1 << length.bit_length()) - 1
        middle = begin + length // 4 * 2
        for place in range(middle - 1, middle + 2):
            random ^= random << 13 & _WORD
            random ^= random >> 7
            random ^= random << 17 & _WORD
            other = random & mask
            self.swap(place, begin + (other - length if other >= length else other))

    def choose_pivot(self, begin: int, end: int) -> tuple[int, int]:
        """Return the place of a median, and how many swaps its search would have taken."""
        quarter = (end - begin) // 4
        places, swaps = [begin + quarter, begin + quarter * 2, begin + quarter * 3], 0
        if end - begin >= _NINTHER:
            for index, place in enumerate(places):
                places[index], more = self.median(place - 1, place, place + 1)
                swaps += more
        middle, more = self.median(*places)
        return middle, swaps + more

    def median(self, one: int, two: int, three: int) -> tuple[int, int]:
        swaps = 0
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        if self.less(three, two):
            two, three, swaps = three, two, swaps + 1
        if self.less(two, one):
            one, two, swaps = two, one, swaps + 1
        return two, swaps
