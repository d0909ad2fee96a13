"""What would be chosen from a menu that was never offered?"""

import rumflow as rf

data = rf.ChoiceData.from_counts(
    {
        ("espresso", "latte"): {"espresso": 55, "latte": 45},
        ("latte", "tea"): {"latte": 70, "tea": 30},
        ("espresso", "latte", "tea", "water"): {"espresso": 40, "latte": 35, "tea": 15, "water": 10},
    }
)
found = rf.bounds(data, ("espresso", "tea"), n_boot=99, seed=0)
for item in found.items:
    low, high = found[item]
    print(f"{item}: between {low:.2f} and {high:.2f} in every model that fits best")
print(found.summary())
