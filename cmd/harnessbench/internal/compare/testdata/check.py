"""Computes what compare says of trials.csv by other means: numpy and scipy alone.

Run in this folder: python check.py > check.json
The rates, intervals and p values in check.json are what TestAgainstPython holds compare to.
trials.csv is made by this script too, from a fixed seed: three arms, 12 scenarios, 4 repetitions.
"""
import csv
import itertools
import json
import random

import numpy as np
from scipy import stats

ARMS = ["base", "better", "same"]


def make():
    rng = random.Random(20260301)
    rows = []
    for s in range(12):
        p = rng.uniform(0.1, 0.7)
        for arm, lift in zip(ARMS, (0, 0.35, 0)):
            for rep in range(4):
                rows.append([f"task-{s:02}", rep, int(rng.random() < min(p + lift, 1)), arm, round(rng.uniform(0.01, 0.05), 4), rng.randrange(500, 4000)])
    with open("trials.csv", "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["scenario", "repetition", "passed", "arm", "cost_usd", "tokens"])
        w.writerows(rows)


def sign_flip(d):
    """Every assignment of signs, counted."""
    signs = np.array(list(itertools.product([1, -1], repeat=len(d))))
    return float(np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-9))


def holm(p):
    order = np.argsort(p)
    out, worst = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1, p[i] * (len(p) - rank)))
        out[i] = worst
    return out


def fieller(x, y):
    """Interval of mean(y) / mean(x)."""
    n = len(x)
    t = stats.t.ppf(0.975, n - 1)
    c = np.cov(x, y) / n * t * t
    a, b, k = x.mean() ** 2 - c[0, 0], x.mean() * y.mean() - c[0, 1], y.mean() ** 2 - c[1, 1]
    r = np.sqrt(b * b - a * k)
    return [(b - r) / a, (b + r) / a]


def mean_ci(x):
    half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return [x.mean() - half, x.mean() + half]


def main():
    make()
    rows = list(csv.DictReader(open("trials.csv")))
    tasks = sorted({r["scenario"] for r in rows})
    cell = lambda arm, column: np.array([[float(r[column]) for r in rows if r["arm"] == arm and r["scenario"] == t] for t in tasks])
    out = {"arms": {}, "comparisons": {}}
    for arm in ARMS:
        passed, cost = cell(arm, "passed"), cell(arm, "cost_usd")
        means = passed.mean(axis=1)
        n = passed.shape[1]
        msb = n * means.var(ddof=1)
        msw = passed.var(axis=1, ddof=1).mean()
        out["arms"][arm] = {
            "rate": means.mean(), "ci": mean_ci(means), "se_clustered": means.std(ddof=1) / np.sqrt(len(means)),
            "se_naive": float(np.sqrt(passed.mean() * (1 - passed.mean()) / passed.size)), "passed": int(passed.sum()),
            "cost_usd": cost.sum(), "cost_of_pass": cost.sum() / passed.sum(), "cost_of_pass_ci": fieller(passed.sum(axis=1), cost.sum(axis=1)),
            "tokens": int(cell(arm, "tokens").sum()), "icc": max(0, (msb - msw) / (msb + (n - 1) * msw)),
            "pass_hat": {str(k): float(np.mean([np.prod([(c - i) / (n - i) for i in range(k)]) for c in passed.sum(axis=1)])) for k in range(1, n + 1)},
        }
    ps = []
    for arm in ARMS[1:]:
        d = cell(arm, "passed").mean(axis=1) - cell("base", "passed").mean(axis=1)
        ca, cb = cell("base", "cost_usd").mean(axis=1), cell(arm, "cost_usd").mean(axis=1)
        ps.append(sign_flip(d))
        out["comparisons"][arm] = {
            "diff": d.mean(), "ci": mean_ci(d), "p": ps[-1], "p_t": float(stats.ttest_1samp(d, 0).pvalue),
            "cost_ratio": cb.mean() / ca.mean(), "cost_ratio_ci": fieller(ca, cb),
        }
    for arm, p in zip(ARMS[1:], holm(ps)):
        out["comparisons"][arm]["p_adjusted"] = p
    first = {arm: cell(arm, "passed")[:, 0] for arm in ARMS}
    only = lambda a, b: int(((first[a] == 1) & (first[b] == 0)).sum())
    out["mcnemar_first_repetition"] = {arm: float(stats.binomtest(only("base", arm), only("base", arm) + only(arm, "base")).pvalue) for arm in ARMS[1:]}
    print(json.dumps(out, indent=1, default=float))


main()
