"""How often gates on a pass rate fail: the table of docs/ci.md.

    pip install numpy scipy
    python3 gates.py

Scenarios are drawn anew for each run from a beta distribution with intra-class
correlation 0.4. The interval is that of docs/statistics.md, written here once more.
"""
import numpy as np
from scipy.stats import norm, t as student

BOUND, ICC, RUNS = 0.7, 0.4, 40_000
rng = np.random.default_rng(1)
z = norm.ppf(0.975)


def interval(means):
    n = means.shape[1]
    p, se, t = means.mean(1), means.std(1, ddof=1) / np.sqrt(n), student.ppf(0.975, n - 1)
    with np.errstate(all="ignore"):
        eff = np.where(se == 0, n, np.minimum(p * (1 - p) / se**2 * (z / t) ** 2, 2 * n))
    centre = (p + z * z / 2 / eff) / (1 + z * z / eff)
    half = z / (1 + z * z / eff) * np.sqrt(p * (1 - p) / eff + z * z / 4 / eff**2)
    wilson = (se == 0) | (p < 0.2) | (p > 0.8)
    return p, np.where(wilson, centre - half, np.clip(p - t * se, 0, 1)), np.where(wilson, centre + half, np.clip(p + t * se, 0, 1))


print("scenarios x repetitions, true rate: fails with of: value, lo, hi")
for scenarios, repetitions in ((30, 5), (100, 5)):
    for rate in (0.6, 0.7, 0.8, 0.9):
        ab = (1 - ICC) / ICC
        means = rng.binomial(repetitions, rng.beta(rate * ab, (1 - rate) * ab, (RUNS, scenarios))) / repetitions
        p, lo, hi = interval(means)
        shares = ((p < BOUND - 1e-12).mean(), (lo < BOUND).mean(), (hi < BOUND).mean())
        print(f"{scenarios} x {repetitions}, {rate:.2f}: " + ", ".join(f"{100 * s:.1f} %" for s in shares))
