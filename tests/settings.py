"""A site on the database that PRISM_TEST_DATABASE names, with the other one as `other`."""

from __future__ import annotations

import os

from tests.databases import databases

SECRET_KEY = "only-for-tests"
ROOT_URLCONF = "tests.urls"
USE_TZ = True
DATABASES = databases(os.environ.get("PRISM_TEST_DATABASE", "sqlite"))
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "prism_graph",
    "prism_graph.pgvector",
]
MIDDLEWARE = [
    "tests.csp.strict",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "static/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
