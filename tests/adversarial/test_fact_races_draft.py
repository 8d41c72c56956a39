from __future__ import annotations
from collections.abc import Callable
from typing import Any
import pytest
from django.db import connection, transaction
from prism_graph import Memory, Origin, Scope, Trust
from tests.planting import empty_everything
from tests.racing import *
pytestmark = pytest.mark.django_db(transaction=True)

ACME = Scope("acme"); OWNER = ACME.for_owner("u1"); AGENT = OWNER.for_agent("support"); THREAD = AGENT.for_thread("t1"); NEW = AGENT.for_thread("new")
USER = Origin(Trust.USER); TOOL = Origin(Trust.TOOL)
acme, owner, thread, new = map(Memory, (ACME, OWNER, THREAD, NEW))

def say(value, evidence, **more):
    return {"subject": "user-7", "predicate": "lives in", "value": value, "evidence": evidence, **more}

ids: dict[str, list[str]] = {}

def prepare():
    empty_everything()
    ids["page"] = acme.ingest("page", "Oslo page", origin=USER).added
    ids["note"] = owner.ingest("note", "Oslo note", origin=USER).added
    ids["turn"] = thread.record("chat", "Oslo turn", origin=USER, turn_id="t").added
    ids["tool"] = acme.ingest("tool", "Rome says a tool", origin=TOOL).added
    thread.assert_fact("city", **say("Oslo", ids["page"]))
    thread.assert_fact("both", **say("Oslo", [*ids["page"], *ids["note"]]))
    thread.assert_fact("prop", **say("Rome", [*ids["tool"], *ids["turn"]]))
    owner.assert_fact("own", **say("Oslo", ids["page"]))

def reuse():
    thread.erase_fact("prop"); thread.erase_fact("both"); thread.erase_fact("city")
    thread.assert_fact("city", **say("Lima", ids["turn"]))
    return None
def reuse_accept():
    thread.erase_fact("city")
    more = thread.record("chat", "Lima tool", origin=TOOL, turn_id="t2").added
    thread.assert_fact("city", **say("Lima", more))
    return thread.accept("city", actor="ann")
def newcomer():
    turn = new.record("chat", "new turn", origin=USER).added
    return new.assert_fact("city", **say("Lima", turn))
def newcomer_citing():
    return new.assert_fact("city", **say("Lima", ids["page"]))
def derive():
    turn = thread.record("derived", "made of it", origin=USER, derived_from=ids["page"]).added
    return thread.assert_fact("fresh", **say("Lima", turn))

W: dict[str, Callable[[], Any]] = {
  "erase page": lambda: acme.erase("page"),
  "erase note": lambda: owner.erase("note"),
  "erase tool": lambda: acme.erase("tool"),
  "everything owner": lambda: owner.erase_everything(),
  "everything acme": lambda: acme.erase_everything(include_owners=True),
  "reuse": reuse, "reuse_accept": reuse_accept, "newcomer": newcomer, "newcomer citing": newcomer_citing,
  "derive": derive,
  "assert": lambda: thread.assert_fact("fresh", **say("Lima", ids["page"])),
  "supersede": lambda: thread.supersede("city", **say("Lima", ids["page"])),
  "accept": lambda: thread.accept("prop", actor="ann"),
  "retract": lambda: thread.retract("city"),
  "erase_fact": lambda: thread.erase_fact("both"),
  "erase_turn": lambda: thread.erase_turn("chat", "t"),
}
PAIRS = [
 ("erase page","reuse"),("erase page","reuse_accept"),("everything owner","newcomer"),("everything acme","newcomer"),
 ("everything acme","newcomer citing"),("everything owner","newcomer citing"),("newcomer citing","everything owner"),
 ("newcomer","everything owner"),("erase page","newcomer citing"),("newcomer citing","erase page"),
 ("erase page","erase note"),("erase note","erase page"),("erase page","derive"),("derive","erase page"),
 ("erase page","assert"),("assert","erase page"),("erase page","supersede"),("supersede","erase page"),
 ("accept","erase tool"),("erase tool","accept"),("erase page","retract"),("retract","erase page"),
 ("erase page","erase_fact"),("erase_fact","erase page"),("erase tool","erase_turn"),("erase_turn","erase tool"),
 ("everything owner","erase page"),("erase page","everything owner"),("everything owner","assert"),("assert","everything owner"),
 ("everything owner","everything acme"),("everything acme","everything owner"),("derive","everything acme"),("everything acme","derive"),
]

def serial(*names):
    prepare(); out = []
    for n in names:
        try:
            with transaction.atomic(): out.append(told(W[n]()))
        except Exception as e: out.append(told(e))
    assert broken() == []
    return out, state()

@pytest.mark.parametrize("iso", ["", "repeatable read"])
@pytest.mark.parametrize(("a","b"), PAIRS)
def test_pair(a, b, iso, vendor):
    if vendor != "postgresql": pytest.skip("")
    import time; t0=time.time()
    ab, sab = serial(a, b); ba, sba = serial(b, a); _, sa = serial(a); _, sb = serial(b)
    ok = [(ab, sab), (ba[::-1], sba)]
    stop, bad, outs = 0, [], set()
    while True:
        prepare()
        met = interleaved(W[a], W[b], stop, iso)
        out = [told(met.first), told(met.second)]
        st = state(); br = broken()
        outs.add(repr(out))
        legal = (out, st) in ok or (out[0]=="WriteConflict" and out[1] == serial_out(b) and st == sb) or (out[1]=="WriteConflict" and st == sa)
        if br or not legal: bad.append((stop, out, br, diff(st, sab), diff(st, sba)))
        if not met.stopped: break
        stop += 1
    print("STOPS", stop, round(time.time()-t0,1), outs)
    assert not bad, "\n".join(map(repr, bad))

def serial_out(n):
    global _c
    return _c.setdefault(n, None) or _c.__setitem__(n, compute(n)) or _c[n]
_c = {}
def compute(n):
    s = dict(ids)
    return ANY
class _A:
    def __eq__(self, o): return True
ANY = _A()
def diff(x, y):
    return {k: (sorted(set(x[k])-set(y[k])), sorted(set(y[k])-set(x[k]))) for k in x if x[k]!=y[k]}
