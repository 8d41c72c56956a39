from django.contrib import admin
from django.urls import path

from helpdesk.views import search

urlpatterns = [path("admin/", admin.site.urls), path("search", search)]
