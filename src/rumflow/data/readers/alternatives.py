"""Long tables with one row per alternative: an observation id, the alternative, and 1 where it was chosen."""

from __future__ import annotations

import numpy as np

from rumflow.core.menus import Menus
from rumflow.data.readers.coding import Coder, to_flags
from rumflow.data.readers.roles import Options, Roles
from rumflow.data.readers.sources import FrameSource, Source
from rumflow.errors import InputError


def collect_alternatives(source: Source, roles: Roles, options: Options) -> tuple[FrameSource, Options]:
    """The same choices as a table with one row per choice: the alternatives of each observation are its menu."""
    observation, item = Coder(), Coder()
    weight: dict[int, object] = {}
    person: dict[int, object] = {}
    pieces, positions = [], []
    for chunk in source.chunks(roles.columns()):
        columns = chunk.columns
        wanted = "1 for the alternative chosen and 0 for the others"
        picked = to_flags(source, columns[str(roles.choice)], chunk.positions, f"column {roles.choice!r}", wanted)
        owner = observation.encode(columns[str(roles.observation)])
        pieces.append(np.stack([owner, item.encode(columns[str(roles.menu)]), picked]))
        positions.append(chunk.positions)
        for name, store in ((roles.weight, weight), (roles.subject, person)):
            if name is not None and name != roles.observation:
                coder = Coder()
                values = coder.encode(columns[name])
                known = coder.values
                who, at = np.unique(owner, return_index=True)
                store.update(zip(who.tolist(), [known[v] for v in values[at].tolist()], strict=True))
    owner, alternative, chosen = np.concatenate(pieces, axis=1)
    place = np.concatenate(positions)
    count = np.bincount(owner, weights=chosen, minlength=len(observation))
    if (count != 1).any() and not (options.outside_option is not None and (count <= 1).all()):
        bad = int(np.argmax((count != 1) if options.outside_option is None else (count > 1)))
        row = int(np.argmax(owner == bad))
        raise InputError(
            f"{source.where(int(place[row]))}: observation {observation.values[bad]!r} has {count[bad]:g} chosen "
            "alternatives; exactly one "
            "must be 1" + (" (or name an outside_option=)" if count[bad] == 0 else "")
        )
    labels = item.values
    offered, cell = Menus.from_cells(owner, alternative, len(observation), len(labels))
    if len(offered.item) < len(owner):
        _, first = np.unique(cell, return_index=True)
        row = int(np.setdiff1d(np.arange(len(cell)), first)[0])
        raise InputError(
            f"{source.where(int(place[row]))}: observation {observation.values[owner[row]]!r} has alternative "
            f"{labels[alternative[row]]!r} twice; list it once"
        )
    different, number = offered.unique()
    shared = different.labels(labels)
    menus = [shared[k] for k in number.tolist()]
    choices: list[object] = [None] * len(menus)
    for who, what in zip(owner[chosen == 1].tolist(), alternative[chosen == 1].tolist(), strict=True):
        choices[who] = labels[what]
    frame: dict[str, object] = {"menu": menus, "choice": choices}
    if weight:
        frame["weight"] = [float(str(weight[k])) for k in range(len(menus))]
    if person:
        frame["subject"] = [person[k] for k in range(len(menus))]
    inner = Options(items=options.items, outside_option=options.outside_option, clean=options.clean, rows=options.rows)
    return FrameSource(frame, source.name, source.text), inner
