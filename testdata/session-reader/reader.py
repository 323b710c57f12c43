#!/usr/bin/env python3
"""Checks a session from docs/session-format.md alone: the line chain, every request, the inputs digests.
usage: reader.py FILE     prints a summary and exits 0, or names the first broken line and exits 1
"""
import hashlib, json, pathlib, sys, types

VERSION, where = "harnessbench/session/1", [0]
INPUTS = {
    "header": "v canon scenario scenario_digest repetition model simulated config tree normalisers fork".split(),
    "attempt": "error items finish usage elapsed_us model cache cache_failed redacted".split(),
    "response": "items finish usage elapsed_us model cache cache_failed redacted".split(),
    "tool.result": "outcome text bytes redacted took_us want_us exit delta".split(),
    "approval": "decision reason took_us".split(),
    "wire": "status header stream text b64 size blob frames broken elapsed_us".split(),
}
sha = lambda *parts: hashlib.sha256(b"".join(parts)).digest()
prefixed = lambda s: len(s).to_bytes(4, "big") + s.encode()
canonical = lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()

def unique(pairs):
    if len(pairs) != len(dict(pairs)):
        raise ValueError("duplicate key")
    return dict(pairs)

DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_constant=lambda w: int(w))  # NaN is no JSON

def fields(line):
    """Yields key, value and the value's bytes of each top-level field."""
    text, i = line.decode(), 1
    while True:
        key, i = DECODER.raw_decode(text, i)
        value, end = DECODER.raw_decode(text, i + 1)
        yield key, value, text[i + 1:end].encode()
        i = end + 1
        if text[end:] == "}":
            return

def part(kind, role, body, call=None):
    return {"kind": kind, "role": role, "digest": sha(body), "call": call}

def settle(p):
    """An assistant's message becomes a part once tool.request lines named the ids of its calls."""
    return p if "kind" in p else part("message", "assistant", canonical({"role": "assistant", "content": p["items"]}))

def check(path):
    data = pathlib.Path(path).read_bytes()
    assert data.endswith(b"\n"), "last line is torn"
    chain, inputs, lanes, known, count = sha(VERSION.encode()), sha(b"harnessbench/inputs/1"), {}, {}, 0
    for where[0], line in enumerate(data[:-1].split(b"\n"), 1):
        no, got = where[0], list(fields(line))
        v, raw = {k: x for k, x, _ in got}, {k: r for k, _, r in got}
        before, chain = chain, sha(chain, line[:-40])
        assert [k for k, _, _ in got[:2]] == ["seq", "t"] and line[-40:] == b',"h":"%s"}' % chain.hex()[:32].encode(), "chain is broken"
        assert v["seq"] == no and len(v) == len(got) and (no > 1 or v["v"] == VERSION), "sequence, duplicate field or version"
        t, lane = v["t"], lanes.setdefault(v.get("lane", "main"), types.SimpleNamespace(asked=[], pending=[]))
        count += t == "request"
        if t == "part":
            p = part(v["kind"], v.get("role", ""), raw["body"], v["why"] == "rewrite" and v["body"].get("call_id"))
            assert p["digest"].hex()[:32] == v["digest"], "part digest"
            at = max(i for i, q in enumerate(lane.pending) if q.get("call") == p["call"]) if v["why"] == "rewrite" else len(lane.pending)
            lane.pending[at:at + 1] = [p]  # in place of the result, or behind all
        elif t == "response":
            items = v.get("items", [])
            lane.pending.append({"items": items, "calls": [i for i in items if i["type"] == "tool_call"]})
        elif t == "tool.request":
            [p for p in lane.pending if "calls" in p][-1]["calls"][v.get("i", 0)]["id"] = v["id"]
        elif t == "tool.result":
            body = {"call_id": v["id"], "content": [{"text": v.get("text", ""), "type": "text"}], "role": "tool"}
            lane.pending.append(part("message", "tool", canonical(body), v["id"]))
        elif t == "request":
            fresh, lane.pending = [settle(p) for p in lane.pending], []
            known.update(((p["digest"].hex()[:32], p["kind"] == "message"), p) for p in fresh)
            explicit = lane.asked[:v.get("keep", 0)]  # asked: parts of the last request; pending: those available since
            for d in v.get("add", []):  # one digest may stand for a system prompt and a message in the conversation
                talk = bool(explicit) and explicit[-1]["kind"] == "message"
                explicit.append(known[d, talk if (d, talk) in known else not talk])
            lane.asked = explicit if "keep" in v else lane.asked + fresh
            h = sha(b"canon/1")
            for p in lane.asked:
                h = sha(h, prefixed(p["kind"]), prefixed(p["role"]), p["digest"])
            assert v["chain"] == h.hex()[:32], "request chain"
        elif t in ("state", "footer"):
            assert v["inputs"] == inputs.hex()[:32 if t == "state" else 64], "inputs digest"
        if t == "footer":
            assert v["lines"] == no and v["digest"] == before.hex(), "footer"
        given = []
        for key, value, r in got:
            if key in INPUTS.get(t, []):
                long = isinstance(value, str) and len(value.encode()) > 64
                given.append(b'"%s":%s' % (key.encode(), b'"%s"' % sha(value.encode()).hex().encode() if long else r))
        if given:
            inputs = sha(inputs, t.encode(), b"\0", b"{", b",".join(given), b"}")
    assert t == "footer", "there is no footer"
    print("ok: %d lines, %d requests, ended %s, chain %s, inputs %s" % (no, count, v["reason"], chain.hex()[:32], inputs.hex()[:32]))

try:
    check(sys.argv[1])
except (AssertionError, ValueError, KeyError, IndexError, TypeError, RecursionError) as e:
    sys.exit("%s: line %d: %s: %s" % (sys.argv[1], where[0], type(e).__name__, e))
