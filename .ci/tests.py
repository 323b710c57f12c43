#!/usr/bin/env python3
"""Reads `go test -json` and prints one line a package, the output of what failed, and every skip.

usage: go test -json ... | tests.py COUNTS

Writes "PASSED FAILED" to the file COUNTS. Exits 1 when a test failed, and when one was skipped for a reason that
is not accepted below: where a tool is missing, the check did not happen, and that is no success.
"""
import json, re, sys

# Data that other projects own is not part of the tree; tests over it run where it lies beside the checkout.
ACCEPTED = re.compile(r"recorded trials|shared/data|shared\\data")

passed = failed = 0
output, bad_skips = {}, []
for line in sys.stdin:
    try:
        e = json.loads(line)
    except ValueError:
        print(line, end="")  # the go command itself speaks
        continue
    if e.get("Action") in ("build-output", "build-fail"):
        print(e.get("Output", ""), end="")
        continue
    key, action = (e.get("Package"), e.get("Test")), e["Action"]
    if action == "output":
        output.setdefault(key, []).append(e["Output"])
    elif action in ("pass", "fail", "skip"):
        said = output.pop(key, [])
        if key[1] is None:  # a package
            if action == "fail":
                failed += 0 if any("--- FAIL" in s for s in said) else 1
                print("".join(said), end="")
            elif action == "pass":
                print("ok   %s  %.2fs" % (key[0], e.get("Elapsed", 0)))
        elif action == "pass":
            passed += 1
        elif action == "fail":
            failed += 1
            print("".join(said), end="")
        else:
            reason = " ".join(s.strip() for s in said if not s.lstrip().startswith(("===", "---")))
            print("skip %s %s: %s" % (key[0], key[1], reason))
            if not ACCEPTED.search(reason):
                bad_skips.append(key)
for package, test in bad_skips:
    print("FAIL %s %s: skipped, and not for an accepted reason" % (package, test))
failed += len(bad_skips)
with open(sys.argv[1], "w") as f:
    f.write("%d %d\n" % (passed, failed))
sys.exit(failed > 0)
