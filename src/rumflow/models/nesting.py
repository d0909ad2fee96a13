"""Which model lies in which, where that is certain.

Models are mixtures of types, so one lies in another where all its types are the other's. On given menus that is seen from lists
of types, or from what models say of themselves: types of rankings lie in random utility. Where neither decides, nothing is said.
"""

from __future__ import annotations

from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.rankings import rankings_of_types


def lies_in(inner: Model, outer: Model, cells: Cells) -> bool:
    """Is every type of the one model certainly one of the other, on these menus?"""
    if outer.all_rankings and inner.of_rankings:
        return True
    types = inner.listed(cells)
    if types is None:
        return False
    if outer.all_rankings:
        try:
            rankings_of_types(cells, outer.known(cells.items), types)
        except InputError:
            return False
        return True
    others = outer.listed(cells)
    return others is not None and {row.tobytes() for row in types} <= {row.tobytes() for row in others}
