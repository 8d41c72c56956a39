from django.db import migrations

from prism_graph.operations import InstallMemory


class Migration(migrations.Migration):
    dependencies = [("acme_memory", "0001_initial")]

    operations = [InstallMemory()]
