"""Writes files."""

import json


def write_to_file(filename, text):
    with open(filename, "w", encoding="utf-8") as file:
        file.write(str(text))


def write_json_to_file(filename, obj, **options):
    write_to_file(filename, json.dumps(obj, **options))
