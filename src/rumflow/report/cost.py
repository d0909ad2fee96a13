"""What an answer costs: in words before it is asked for, and whether intervals are so quick that they are usual."""

from __future__ import annotations

from rumflow.data.choices import ChoiceData
from rumflow.inference.confidence import has_counts
from rumflow.output.names import how_many
from rumflow.projection.cost import estimate_cost

#: Projections behind the interval of a share, seconds that those of all items may take, and seconds that pictures take.
REPLICATES, MOST_SECONDS, DRAWING = 2_000, 30, 1


def cost_text(data: ChoiceData, projections: int) -> str:
    """What an answer will cost, in words."""
    cost = estimate_cost(data)
    if cost.note or cost.seconds != cost.seconds:
        return f"This may take long: {cost.note or 'nobody can say how long'}. It can be cancelled at any time."
    seconds = DRAWING + cost.seconds * projections
    time = how_many(round(seconds), "second") if seconds < 100 else how_many(round(seconds / 60), "minute")
    return f"About {time} on an idle machine, longer on a busy one. It can be cancelled at any time."


def usual_level(data: ChoiceData) -> float | None:
    """0.95, or None where intervals for all items would take long, or the numbers of choices are not known."""
    if not has_counts(data):
        return None
    cost = estimate_cost(data)
    return 0.95 if not cost.note and cost.seconds * REPLICATES * len(data.items) <= MOST_SECONDS else None
