"""Reference values for results/stats, made with scipy:

    pip install scipy
    python3 reference.py > reference-py.json

None of the values comes from harnessbench.
"""
import itertools, json, sys
import numpy as np, scipy
from scipy import optimize, stats

out = {"origin": f"Python {sys.version.split()[0]}, scipy {scipy.__version__}, testdata/reference.py"}

# Stratified: the restricted maximum likelihood by numerical search, the score of
# Miettinen and Nurminen (1985), eq. 16, with Mantel-Haenszel weights; roots by brentq.
def restricted(pa, na, pb, nb, d):
    def loss(p):
        q = p + d
        ll = 0.0
        for k, n, x in ((pa, na, p), (pb, nb, q)):
            if k: ll += k * np.log(x)
            if n - k: ll += (n - k) * np.log(1 - x)
        return -ll
    lo, hi = max(0, -d), min(1, 1 - d)
    e = 1e-13
    return optimize.minimize_scalar(loss, bounds=(lo + e, hi - e), method="bounded", options={"xatol": 1e-13}).x

def score(strata, d):
    num = v = 0.0
    for pa, na, pb, nb in strata:
        w = na * nb / (na + nb)
        x = restricted(pa, na, pb, nb, d)
        y = x + d
        num += w * (pb / nb - pa / na - d)
        v += w * w * (y * (1 - y) / nb + x * (1 - x) / na) * (na + nb) / (na + nb - 1)
    return num / v**0.5

out["stratified_mn"] = []
z = stats.norm.ppf(0.975)
for strata in [[(3, 10, 9, 10)], [(5, 20, 6, 30)], [(12, 30, 25, 33)], [(1, 4, 3, 4), (2, 5, 4, 5), (0, 3, 1, 2)], [(5, 10, 9, 10), (1, 8, 1, 6)], [(3, 5, 1, 5), (4, 4, 2, 3), (1, 2, 1, 2), (0, 5, 0, 4)]]:
    w = [na * nb / (na + nb) for pa, na, pb, nb in strata]
    est = sum(wi * (s[2] / s[3] - s[0] / s[1]) for wi, s in zip(w, strata)) / sum(w)
    lo = optimize.brentq(lambda d: score(strata, d) - z, -0.95, est - 1e-9, xtol=1e-12)
    hi = optimize.brentq(lambda d: score(strata, d) + z, est + 1e-9, 0.95, xtol=1e-12)
    out["stratified_mn"].append({"strata": strata, "value": est, "lo": lo, "hi": hi})

# Where a guard fired: every swap of the two trials of a repetition, enumerated, and
# the statistic computed anew after each. States: 0 not exposed, 1 failed, 2 passed.
def where(units):
    def stat(us):
        total = 0.0
        for s in sorted({u[0] for u in us}):
            na = sum(a > 0 for t, a, b in us if t == s); pa = sum(a == 2 for t, a, b in us if t == s)
            nb = sum(b > 0 for t, a, b in us if t == s); pb = sum(b == 2 for t, a, b in us if t == s)
            if na and nb:
                total += (na * pb - nb * pa) / (na + nb)
        return total
    seen = abs(stat(units))
    hits = n = 0
    for swap in itertools.product([False, True], repeat=len(units)):
        n += 1
        hits += abs(stat([(s, b, a) if w else (s, a, b) for w, (s, a, b) in zip(swap, units)])) >= seen - 1e-12
    return hits / n

rng = np.random.default_rng(1)
out["swap"] = []
for n in (6, 9, 12):
    units = [(int(rng.integers(3)), int(rng.integers(3)), int(rng.integers(1, 3))) for _ in range(n)]
    out["swap"].append({"units": units, "p": where(units)})
json.dump(out, sys.stdout, indent=1)
print()
