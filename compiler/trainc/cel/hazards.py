"""Which plans fast.py may not run: those whose cost depends on what lies on the stack (trace.py).

In a loop, an attribute whose entry nobody took away in an earlier round drops, when it is evaluated again, all that has
come since; the arguments of a call among that are lost, and the call costs nothing. For that three things must come
together: a loop, an attribute whose entry may stay, and a call with an argument before it that waits for it.
"""

from __future__ import annotations

from trainc.cel import interpretable as plan
from trainc.cel.interpretable import Interpretable

_Waiting = tuple[object, bool, bool]


def hazardous(root: Interpretable) -> bool:
    """Tell whether the cost of a plan may not be the sum of its parts even if nothing fails."""
    return any(_loops(root))


def _loops(root: object) -> list[bool]:
    """Return, for each loop of a plan, whether a round of it leaves something that a later one trips over."""
    found = []
    waiting = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, plan.Fold):
            found += [_trips(body, False) for body in (part.condition, part.step, part.result)]
            if not isinstance(part.start, plan.Constant):
                found.append(_trips(part.start, True))
        waiting += plan.parts(part)
    return found


def _trips(body: object, pending: bool) -> bool:
    """Tell whether an attribute in a body leaves its entry, loops inside left out, while arguments are pending.

    Of what waits to be looked at: the part, whether arguments are pending, whether its entry is left.
    """
    waiting: list[_Waiting] = [(body, pending, False)]
    while waiting:
        part, pending, left = waiting.pop()
        if (
            isinstance(part, plan.Access)
            and pending
            and (_leaves_inside(part.attribute) or (left and _uncertain(part)))
        ):
            return True
        if isinstance(part, plan.Call):
            waiting += [(arg, pending or index > 0, False) for index, arg in enumerate(part.args)]
        elif isinstance(part, plan.Or | plan.Membership):
            waiting += [(each, pending, True) for each in plan.parts(part)]
        elif isinstance(part, plan.Fold):
            waiting.append((part.iter_range, pending, False))
        else:
            waiting += [(each, pending, False) for each in plan.parts(part)]
    return False


def _uncertain(access: plan.Access) -> bool:
    """Tell whether an attribute may be evaluated without its own last qualifier being put on the stack first."""
    attribute = access.attribute
    if isinstance(attribute, plan.ConditionalAttribute):
        return False
    if isinstance(attribute, plan.MaybeAttribute):
        return True
    if not attribute.qualifiers:
        return True
    last = attribute.qualifiers[-1]
    optional = any(qualifier.optional for qualifier in attribute.qualifiers)
    held = isinstance(attribute, plan.RelativeAttribute) or attribute.optional or attribute.dynamic
    return optional or held or (isinstance(last, plan.ComputedQualifier) and not last.plain)


def _leaves_inside(attribute: plan.Attribute) -> bool:
    """Tell whether a qualifier other than the last one is an expression, which leaves an entry of its own."""
    if isinstance(attribute, plan.ConditionalAttribute):
        return _leaves_inside(attribute.truthy) or _leaves_inside(attribute.falsy)
    if isinstance(attribute, plan.MaybeAttribute):
        return True
    return any(isinstance(each, plan.ComputedQualifier) and not each.plain for each in attribute.qualifiers[:-1])
