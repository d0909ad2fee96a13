"""Which menus are in conflict, and why?"""

import rumflow as rf

data = rf.ChoiceData.from_counts(
    {
        ("tea", "milk"): {"tea": 80, "milk": 20},
        ("milk", "gin"): {"milk": 75, "gin": 25},
        ("tea", "gin"): {"tea": 10, "gin": 90},
        ("tea", "water"): {"tea": 50, "water": 50},
    }
)
found = rf.explain(data, seed=0)
print("in conflict:", found.conflict)
print(found.summary())
