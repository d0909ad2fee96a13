"""Which model fits: any ranking, known preferences, single-peaked preferences?"""

import rumflow as rf

sizes = ("small", "medium", "large")
data = rf.ChoiceData.from_counts(
    {
        ("small", "medium"): {"small": 30, "medium": 70},
        ("medium", "large"): {"medium": 60, "large": 40},
        ("small", "large"): {"small": 45, "large": 55},
        sizes: {"small": 25, "medium": 45, "large": 30},
    }
)
models = {
    "any ranking": rf.RandomUtility(),
    "medium before small": rf.RandomUtility(above=[("medium", "small")]),
    "single-peaked": rf.SinglePeaked(sizes),
}
print(rf.compare_models(data, models, n_boot=99, seed=0).summary())
