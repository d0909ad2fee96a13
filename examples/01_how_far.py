"""How far are the choices from rational, and what is the nearest rational model?"""

import rumflow as rf

data = rf.ChoiceData.from_counts(
    {
        ("tea", "milk"): {"tea": 31, "milk": 9},
        ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20},
    }
)
fit = rf.project(data)
print(fit.summary())

# The nearest model answers for any menu; the gap certifies that no other is nearer.
print("milk or gin:", fit.probabilities(["milk", "gin"]))
print(f"distance {fit.distance:.4f}, certified to {fit.gap:.1e}")
