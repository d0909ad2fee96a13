"""Models on small graphs, by name."""

from rumflow.models.linear_utility import LinearUtility
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked

MODELS = {
    "rows": lambda n: RandomUtility(),
    "above": lambda n: RandomUtility([(0, 1)] if n > 1 else []),
    "labels": lambda n: SinglePeaked(range(n)),
    "list": lambda n: LinearUtility({x: (x, x * x) for x in range(n)}),
}
