#!/usr/bin/env python3
"""Runs the queries of docs/analysis.md on two run folders and checks what they give.

    python3 check.py RUN WEAK            run them; the output must be the page's
    python3 check.py --update RUN WEAK   write the output into the page

RUN is a run of the starter suite (`harnessbench run -o RUN`), WEAK one of
builtin/weak-vs-strong. They give the same tables on every machine.

1. A query is a fenced block of SQL or Python in the page, under a comment that
   names it, with weak-vs-strong/ before the name where it is of WEAK; its output is
   the text block that follows. SQL runs in DuckDB, a Python block leaves its table
   in `result`. Both run inside the run folder.
2. Every table is printed in one form, so the output does not depend on how a
   version of a library draws tables.
3. Queries that compute what report.json has too must give the same numbers: rates,
   differences and intervals to 1e-12, p values of exact tests in every bit. Queries that ask
   the same question in several tools must give the same table.

Needs duckdb, pandas, polars, pyarrow and scipy.
"""

import json
import os
import re
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "analysis.md")
BLOCK = re.compile(
    r"<!-- query: (?P<suite>weak-vs-strong/)?(?P<name>[\w-]+) -->\n```(?P<lang>sql|python)\n(?P<code>.*?)```\n\n```text\n(?P<output>.*?)```\n", re.S
)


def run(lang, code):
    """Runs a query and returns its column names and rows."""
    if lang == "sql":
        import duckdb

        cursor = duckdb.connect().execute(code)
        return [d[0] for d in cursor.description], [list(r) for r in cursor.fetchall()]
    scope = {}
    exec(compile(code, "<docs/analysis.md>", "exec"), scope)
    table = scope["result"]
    rows = table.rows() if hasattr(table, "rows") else table.itertuples(index=False, name=None)
    return [str(c) for c in table.columns], [list(r) for r in rows]


def plain(value):
    """Gives a value of any of the libraries as Python's own; missing is None."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value


def text(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "%.4f" % value if value == 0 or abs(value) >= 0.01 else "%.3g" % value
    return str(value)


def draw(columns, rows):
    """Draws a table: numbers to the right, texts to the left."""
    cells = [[text(v) for v in row] for row in rows]
    right = [any(isinstance(r[i], (int, float)) and not isinstance(r[i], bool) for r in rows) for i in range(len(columns))]
    widths = [max([len(c)] + [len(r[i]) for r in cells]) for i, c in enumerate(columns)]
    lines = []
    for row in [list(columns)] + cells:
        line = "  ".join(v.rjust(w) if r else v.ljust(w) for v, w, r in zip(row, widths, right))
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


EXACT, TIGHT = 0, 1e-12


def close(a, b, within):
    return (a is None) == (b is None) and (a is None or abs(a - b) <= within)


def one(rows, **want):
    """Gives the one of the report's entries that has these members."""
    found = [r for r in rows if all(r[k] == v for k, v in want.items())]
    if len(found) != 1:
        raise AssertionError("report.json has %d entries of %s" % (len(found), want))
    return found[0]


def expected(name, row, report):
    """Gives what report.json says of a row of the query: column, number, tolerance."""
    if name.startswith("rate-"):
        arm = one(report["arms"], model=row["model"], arm=row["arm"])
        return [("rate", arm["rate"], TIGHT)]
    if name.startswith("cost-"):
        arm = one(report["arms"], model=row["model"], arm=row["arm"])
        lo, hi = arm["cost_of_pass_ci"] or (None, None)
        out = [("usd_per_pass", arm["cost_of_pass"], TIGHT)]
        return out + [("lo", lo, TIGHT), ("hi", hi, TIGHT)] if "lo" in row else out
    if name.startswith("where-fired"):
        fired = one(report["guards"], model=row["model"], guard=row["guard"])["where_fired"]
        estimate, test = fired["estimate"], fired["test"]
        out = [("where_fired", estimate["value"], TIGHT)]
        if "lo" in row:
            if not estimate["ci_method"].startswith("Tango") or "exact" not in test["test"]:
                raise AssertionError("report.json used %s and %s" % (estimate["ci_method"], test["test"]))
            out += [("lo", estimate["lo"], TIGHT), ("hi", estimate["hi"], TIGHT), ("p", test["p"], EXACT)]
        return out
    if name.startswith("headline-"):
        c = one(report["comparisons"], base="strong-bare", arm="weak-harness")
        diff, a, b = c["over_all"], c["a"], c["b"]
        if "Student" not in diff["ci_method"] or "exact" not in c["over_all_test"]["test"]:
            raise AssertionError("report.json used %s and %s" % (diff["ci_method"], c["over_all_test"]["test"]))
        return [
            ("rate_a", a["rate"], TIGHT), ("rate_b", b["rate"], TIGHT), ("diff", diff["value"], TIGHT),
            ("lo", diff["lo"], TIGHT), ("hi", diff["hi"], TIGHT), ("p", c["over_all_test"]["p"], EXACT),
            ("pass_usd_a", a["cost_of_pass"]["usd"], TIGHT), ("pass_usd_b", b["cost_of_pass"]["usd"], TIGHT),
            ("cost_ratio", c["cost_of_pass_ratio"]["estimate"]["value"], TIGHT),
        ]
    return []


def agree(name, columns, rows, report):
    """Compares with report.json what it has too; returns how many numbers agree."""
    compared = 0
    for row in rows:
        row = dict(zip(columns, row))
        for column, want, within in expected(name, row, report):
            if not close(row[column], want, within):
                raise AssertionError("%s: %s is %r in %s; report.json says %r" % (name, column, row[column], row, want))
            compared += 1
    return compared


def main(args):
    update = "--update" in args
    args = [a for a in args if a != "--update"]
    if len(args) != 2:
        sys.exit("usage: check.py [--update] RUN WEAK")
    folders = [os.path.abspath(a) for a in args]
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    reports = []
    for folder in folders:
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as f:
            reports.append(json.load(f))
    failures, count, compared, same = [], 0, 0, {}

    def query(m):
        nonlocal count, compared
        name, output = m["name"], "(failed)\n"
        of = 1 if m["suite"] else 0
        os.chdir(folders[of])
        count += 1
        try:
            columns, rows = run(m["lang"], m["code"])
            rows = [[plain(v) for v in row] for row in rows]
            output = draw(columns, rows)
            if not rows:
                raise AssertionError("it gives no row")
            compared += agree(name, columns, rows, reports[of])
            stem = (m["suite"] or "") + name.rsplit("-", 1)[0]
            if same.setdefault(stem, output) != output and name.rsplit("-", 1)[-1] in ("duckdb", "pandas", "polars"):
                raise AssertionError("another tool gave another table:\n" + same[stem] + output)
        except Exception as e:  # every query is tried
            failures.append("%s: %s: %s" % (name, type(e).__name__, e))
        if output != m["output"] and not update:
            failures.append("%s: the page shows\n%sthe query gives\n%s(run with --update if that is right)" % (name, m["output"], output))
        return m[0].replace("```text\n" + m["output"], "```text\n" + output)

    page = BLOCK.sub(query, page)
    for f in failures:
        print("FAIL " + f)
    if count != page.count("<!-- query: "):
        sys.exit("docs/analysis.md marks %d queries; %d can be read" % (page.count("<!-- query: "), count))
    if failures or compared == 0:
        sys.exit("%d of %d queries failed" % (len(failures), count))
    if update:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(page)
    print("%d queries ran; %d numbers agree with report.json" % (count, compared))


if __name__ == "__main__":
    main(sys.argv[1:])
