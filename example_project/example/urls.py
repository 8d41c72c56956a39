from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.urls import path

from helpdesk.views import search

# The admin's page, for people who are not its staff.
login = LoginView.as_view(template_name="admin/login.html")

urlpatterns = [
    path("admin/", admin.site.urls),
    path("login", login, name="login"),
    path("search", search),
]
