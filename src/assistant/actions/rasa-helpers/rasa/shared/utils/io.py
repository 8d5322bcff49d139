"""Reads and writes files."""

import json
import os
from io import StringIO


def read_file(filename, encoding="utf-8"):
    with open(filename, encoding=encoding) as file:
        return file.read()


def read_json_file(filename):
    return json.loads(read_file(filename))


def read_yaml(content, **_):
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(StringIO(content))


def read_yaml_file(filename, **_):
    return read_yaml(read_file(filename))


read_config_file = read_yaml_file


def write_text_file(content, file_path, encoding="utf-8", append=False):
    with open(file_path, "a" if append else "w", encoding=encoding) as file:
        file.write(content)


def json_to_string(obj, **options):
    return json.dumps(obj, **{"indent": 2, "ensure_ascii": False, **options})


def dump_obj_as_json_to_file(filename, obj):
    write_text_file(json_to_string(obj), filename)


def create_directory(directory_path):
    os.makedirs(directory_path, exist_ok=True)


def create_directory_for_file(file_path):
    create_directory(os.path.dirname(file_path) or ".")
