"""`MixtureRUM`: a mixture of logits over the menu of each sample, rational by construction for any number of items."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rumflow.check import check_whole
from rumflow.errors import InputError
from rumflow.torch.checks import refuse, require_floating


class MixtureRUM(nn.Module):
    """Log-probabilities of a mixture of K logits, each sample with a menu of its own.

    The layer has no parameters to train: utilities and shares come from any network.

    Parameters
    ----------
    parts : int
        Number of logits that are mixed, K.

    Raises
    ------
    InputError
        If an argument is not accepted.

    Notes
    -----
    With A the items available to a sample, ::

        P(x | A) = sum over k of s_k exp u_k(x) / sum over y in A of exp u_k(y),    s = softmax(shares)

    A logit is a random utility model and so is a mixture of them: the same people choose from every menu. This holds as long
    as **neither utilities nor shares see the menu**. A network that reads the mask, or the features of the other items that
    are offered, makes other people of the same person when the menu changes; features of the person and of each item by
    itself are free. Every random utility model is a limit of such mixtures as K grows.

    What stands on absent items is not read, be it NaN: they get a log-probability of minus infinity and gradient 0.

    Examples
    --------
    >>> import torch
    >>> utilities = torch.tensor([[[1.0, 0.0, 5.0], [0.0, 1.0, 5.0]]])
    >>> logp = MixtureRUM(2)(utilities, torch.zeros(1, 2), torch.tensor([[True, True, False]]))
    >>> logp.exp()
    tensor([[0.5000, 0.5000, 0.0000]])
    """

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.parts: int = check_whole(parts, "parts", 1)

    def forward(self, utilities: Tensor, shares: Tensor, mask: Tensor | None = None) -> Tensor:
        """Compute log-probabilities.

        Parameters
        ----------
        utilities : Tensor of shape (..., K, n)
            Of every item for every part.
        shares : Tensor of shape (..., K)
            Logits of the shares of the parts.
        mask : Tensor of bool, shape (..., n), optional
            Which items are available; None: all.

        Returns
        -------
        Tensor of shape (..., n)
            Minus infinity on absent items.
        """
        self._check(utilities, shares, mask)
        weights = shares.log_softmax(-1)[..., None]
        if mask is None:
            return (weights + utilities.log_softmax(-1)).logsumexp(-2)
        inside = mask[..., None, :]
        # Absent items are taken out before anything is summed, and put at 0 before parts are: a sum of nothing but minus
        # infinity has no gradient.
        logits = torch.where(inside, utilities, -torch.inf).log_softmax(-1)
        mixed = (weights + torch.where(inside, logits, 0.0)).logsumexp(-2)
        return torch.where(mask, mixed, -torch.inf)

    def _check(self, utilities: Tensor, shares: Tensor, mask: Tensor | None) -> None:
        require_floating("utilities", utilities)
        require_floating("shares", shares)
        if utilities.ndim < 2 or utilities.shape[-2] != self.parts:
            raise InputError(
                f"utilities: the last two axes must run over the {self.parts} parts and the items; the input has shape "
                f"{tuple(utilities.shape)}"
            )
        if shares.ndim == 0 or shares.shape[-1] != self.parts:
            raise InputError(
                f"shares: the last axis must run over the {self.parts} parts; the input has shape {tuple(shares.shape)}"
            )
        if mask is None:
            return
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
            raise InputError(f"mask: a tensor of bool is needed, True where an item is available, not {kind}")
        if mask.ndim == 0 or mask.shape[-1] != utilities.shape[-1]:
            raise InputError(
                f"mask: the last axis must run over the {utilities.shape[-1]} items; the input has shape {tuple(mask.shape)}"
            )
        refuse(~mask.any(-1), lambda i: f"mask: sample {i} has no item available; every menu needs at least one")

    def extra_repr(self) -> str:
        """Return what `print(layer)` shows."""
        return f"parts={self.parts}"
