"""Could it be chance? A bootstrap test of random utility."""

import rumflow as rf

rational = rf.simulate.random_menus(6, 12, 3, n_rankings=4, draws=60, seed=1)  # choices of a mixture of four rankings
result = rf.rum_test(rational, n_boot=199, seed=0)
print(result.summary())

decoy = rf.ChoiceData.from_counts(  # adding a worse camera helps the one that is like it
    {
        ("small", "large"): {"small": 60, "large": 40},
        ("small", "large", "worse"): {"small": 30, "large": 65, "worse": 5},
    }
)
result = rf.rum_test(decoy, n_boot=999, seed=0)
print(f"a decoy: p = {result.pvalue:.3f}, rejected at 5 %: {bool(result.rejects())}")
