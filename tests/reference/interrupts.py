"""An interrupt at a chosen moment."""

from rumflow.solvers.active_set import solve as active_set


class Interrupted:
    """The active set, interrupted in one of its passes."""

    def __init__(self, monkeypatch, at):
        self.calls, self.at = 0, at
        self.plain = active_set.kernels.measure
        monkeypatch.setattr(active_set.kernels, "measure", self)

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.plain(*arguments)
