"""Public signals, sent when the transaction commits. They carry ids and the scope, never text.

Each is sent with `scope` and `using`. Those of sources have `sender` the Source model and `source`, its id.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import Signal

from prism_graph.scope import Scope

# Also `added` and `retired`, lists of chunk ids.
source_ingested = Signal()
source_retired = Signal()
# After `erase` and `erase_turn`, for every source that lost chunks, those of scopes below included.
source_erased = Signal()

# After `erase_everything`; sent with `scope`, whose scopes below are erased as well.
memory_erased = Signal()
# Of facts: sent with `sender` the FactVersion model, `fact` and `version`, their ids. `fact_proposed` is
# sent for what waits for a decision, also when losing evidence made it wait again.
fact_accepted = Signal()
fact_proposed = Signal()
fact_rejected = Signal()
fact_retracted = Signal()
fact_erased = Signal()


def announce(signal: Signal, sender: Any, scope: Scope, using: str, **ids: Any) -> None:
    """Send a signal once the transaction commits; a receiver that fails is logged and stops nothing."""
    send = partial(signal.send_robust, sender=sender, scope=scope, using=using, **ids)
    transaction.on_commit(send, using=using, robust=True)
