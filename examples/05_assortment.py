"""Who gains when a product goes, what should be offered, and what should be asked next?"""

import rumflow as rf

sales = rf.ChoiceData.from_counts(
    {
        ("none", "red", "white"): {"none": 60, "red": 25, "white": 15},
        ("none", "red", "rose"): {"none": 55, "red": 25, "rose": 20},
        ("none", "red", "rose", "white"): {"none": 45, "red": 22, "rose": 18, "white": 15},
    }
)
print(rf.diversion(sales, "red", n_boot=99, seed=0).summary())

best = rf.best_assortment(sales, {"none": 0.0, "red": 9.0, "rose": 8.0, "white": 12.0}, outside_option="none")
print(f"offer {best.menu}: at least {best.lower:.2f} a customer, whatever the model")

print(rf.next_menu(sales).summary())
