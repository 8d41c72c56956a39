from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET

from helpdesk.scopes import scope_of
from prism_graph import Memory


@login_required
@require_GET
def search(request: HttpRequest) -> JsonResponse:
    """Answer `/search?q=…` with the passages that the logged-in user may see."""
    hits = Memory(scope_of(request)).search(request.GET.get("q", ""), limit=5)
    return JsonResponse(
        {
            "hits": [
                {
                    "id": hit.chunk.id,
                    "source": hit.chunk.source_key,
                    "lines": hit.chunk.lines,
                    "trust": str(hit.chunk.trust),
                    "text": hit.chunk.text,
                    "score": hit.score,
                }
                for hit in hits
            ]
        }
    )
