"""Columns that look like persons: who chose several times is one draw of tastes, so tests have to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rumflow.data.readers.content import Sample
from rumflow.data.readers.roles import PERSONS, Roles, plain


def point_out_persons(roles: Roles, sample: Sample, columns: Sequence[str], given: Any) -> None:
    """Say which columns look like persons with several choices each, where no subject is known; `given` is the argument.

    A person may be one of several columns that tell choices apart, and is the same in all rows of a choice.
    """
    if roles.subject is not None or given is False or roles.form == "matrix":
        return
    used = set(roles.columns()) - set(roles.observation if len(roles.observation) > 1 else ())
    owner = sample.joined(roles.observation) if roles.observation else np.arange(len(sample))
    choices = len(np.unique(owner))
    called = [c for c in columns if plain(c) in PERSONS and c not in used and sample.repeated(c, owner)]
    found = [c for c in called if len(np.unique(np.stack([owner, sample.codes(c)]), axis=1).T) == choices]
    for name in found[:3]:
        roles.doubts.append(
            f"column {name!r} looks like persons with several choices each; subject={name!r} (--subject {name}) treats "
            f"their choices "
            "together, subject=False (--subject no) says that all choices are independent"
        )
