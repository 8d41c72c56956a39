"""Whose memory a request may read."""

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from prism_graph import Scope

REVIEWERS = "{} reviewers"


def scope_of(request: HttpRequest) -> Scope:
    """Return the scope of the logged-in user under the tenant of the host.

    Raises PermissionDenied for a host of no tenant and for a user who is not in the tenant's group.
    """
    tenant = settings.TENANTS.get(request.get_host().partition(":")[0])
    if tenant is None or not request.user.groups.filter(name=tenant).exists():
        raise PermissionDenied
    return Scope(tenant).for_owner(request.user)


def review_scopes(user: User) -> list[Scope]:
    """Return the tenants that a member of the staff reviews: those of whose reviewers' group they are."""
    groups = set(user.groups.values_list("name", flat=True))
    tenants = settings.TENANTS.values()
    return [Scope(tenant) for tenant in tenants if REVIEWERS.format(tenant) in groups]
