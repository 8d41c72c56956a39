"""Function words: they leave the query, never the index."""

from __future__ import annotations

from typing import Final

ENGLISH: Final = frozenset(
    """a about above after again against all also am an and any are aren't as at be because been
    before being below between both but by can can't cannot could couldn't did didn't do does
    doesn't doing don't done down during each ever few for from further get gets got had hadn't has
    hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how
    how's i i'd i'll i'm i've if in into is isn't it it's its itself just let's me more most
    mustn't my myself no nor not of off on once only or other ought our ours ourselves out over own
    please same shan't she she'd she'll she's should shouldn't so some such tell than that that's
    the their theirs them themselves then there there's these they they'd they'll they're they've
    this those through to too under until up us very was wasn't we we'd we'll we're we've were
    weren't what what's when when's where where's which while who who's whom whose why why's will
    with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves""".split()
)

# Common words of other languages in Latin letters that English does not have: a sign, not dropped.
ELSEWHERE: Final = frozenset(
    """der das dem den und ist wie welche welcher welches von mit wer wann wo sich ein eine el los las
    del que cual como cuando donde quien una en es por para le les des du est quel quelle qui quand
    une dans et il di che della quale quando chi nel um uma qual em os onde het een wat wie wanneer
    bir ve hangi kim nasil ile hvad hvem och vad vilken hur som czy jest kto kiedy jak ktory gdzie
    care este cine cand unde ce si pe la nu cua la gi nao khi nguoi mitka kuka onko apa yang siapa
    dan ile hol mikor melyik kdo kdy ktera ano""".split()
)
