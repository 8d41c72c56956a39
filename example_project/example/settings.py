from importlib.util import find_spec
from pathlib import Path

import environ

BASE_DIR = Path(__file__).parents[1]
env = environ.Env()

SECRET_KEY = env.str("SECRET_KEY", default="insecure-key-of-the-example-project")
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = [".localhost"]
# Whose memory a request reads is decided by the host it came to, never by what it says.
TENANTS = {"acme.localhost": "acme", "globex.localhost": "globex"}

DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{BASE_DIR / 'example.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON"
        ),
    }

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "prism_graph",
    "helpdesk",
]
# Who makes the vectors of new passages: "immediate", the process that stored them; "database", a worker:
# PRISM_GRAPH_TASKS=database python manage.py db_worker
if env.str("PRISM_GRAPH_TASKS", default="immediate") == "database":
    INSTALLED_APPS.append("django_tasks_db")
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
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
PRISM_GRAPH = {"REVIEW_SCOPES": "helpdesk.scopes.review_scopes"}
# A small model that comes with its package, unless the environment names another embedder, or "" for none.
MINILM = "minilm" if find_spec("onnxruntime") and find_spec("tokenizers") else ""
if provider := env.str("PRISM_GRAPH_EMBED_PROVIDER", default=MINILM):
    PRISM_GRAPH |= {
        "VECTORS": env.str("PRISM_GRAPH_VECTORS", default="exact"),
        "EMBEDDER": {
            "provider": provider,
            "model": env.str("PRISM_GRAPH_EMBED_MODEL", default=None),
            "dimensions": env.int("PRISM_GRAPH_EMBED_DIMENSIONS", default=None),
        },
    }
ROOT_URLCONF = "example.urls"
LOGIN_URL = "login"
STATIC_URL = "static/"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
