"""Can a network be rational by construction?"""

import numpy as np
import torch

import rumflow as rf
from rumflow.torch import FlowRUM

menu, item = rf.Lattice(4).cells.T  # the last axis of layers runs over the cells (menu, item)
truth = torch.from_numpy(rf.simulate.mixed_logit(4, seed=1)[menu, item])
layer = FlowRUM(4)
scores = torch.zeros(len(menu), dtype=torch.float64, requires_grad=True)  # in a network: what its last layer says
optimizer = torch.optim.Adam([scores], lr=0.1)
for step in range(200):
    optimizer.zero_grad()
    loss = (layer(scores) - truth).square().mean()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: squared error {loss.item():.2e}")

rho = np.zeros((16, 4))
rho[menu, item] = layer(scores).detach().numpy()
print("rational:", rf.is_rum(rho))
