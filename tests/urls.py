from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path


def favicon(request: HttpRequest) -> HttpResponse:
    """Answer what browsers ask every site for."""
    return HttpResponse(status=204)


urlpatterns = [path("admin/", admin.site.urls), path("favicon.ico", favicon)]
