"""Whose memory a request may read."""

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from prism_graph import Scope


def scope_of(request: HttpRequest) -> Scope:
    """Return the scope of the logged-in user under the tenant of the host.

    Raises PermissionDenied for a host of no tenant and for a user who is not in the tenant's group.
    """
    tenant = settings.TENANTS.get(request.get_host().partition(":")[0])
    if tenant is None or not request.user.groups.filter(name=tenant).exists():
        raise PermissionDenied
    return Scope(tenant).for_owner(request.user)
