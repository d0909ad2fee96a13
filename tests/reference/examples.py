"""Data small enough to work everything out by hand.

DECOY   from {a, b} 30 of 100 take a, from {a, b, c} 50: more on offer made a more popular. The nearest random utility model
        gives a 27/70 of both, which is 24/700 away in squared distance, 24/7 with 100 choices a menu.
FITS    60 of 100, then 50: c costs a and b ten choices each.
SHOP    with an outside option: of 100 people 40 buy a; where b is offered as well, 30 buy a and 20 b.
"""

import numpy as np

import rumflow as rf

DECOY = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
FITS = rf.ChoiceData.from_counts({("a", "b"): {"a": 60, "b": 40}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
SHOP = rf.ChoiceData.from_counts({("out", "a", "b"): {"out": 50, "a": 30, "b": 20}, ("out", "a"): {"out": 60, "a": 40}})
PAIR = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
TWO = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})

#: Items in two orders; {b, c} was offered to both, {a} leaves no choice, and of {a, b, c} the second recorded b and c only.
FIRST = rf.ChoiceData.from_counts({("a",): {"a": 9}, ("b", "c"): {"b": 6, "c": 2}, ("a", "b"): {"a": 1, "b": 3}})
SECOND = rf.ChoiceData(
    ("c", "b", "a"),
    np.array([[True, True, False], [True, True, True]]),
    np.array([[5.0, 15.0, np.nan], [4.0, 2.0, np.nan]]),
    np.array([20.0, 10.0]),
)
