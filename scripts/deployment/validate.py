"""Validates deployment files. Prints the number of objects, or every mistake, and then exits with 1.

validate.py schema SCHEMA.json FILE.yml      one file against a JSON Schema
validate.py objects CRDS FILE.yml            Kubernetes objects; custom ones against the definitions in CRDS,
                                            folders with colons between them
"""

import json
import os
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml


# YAML 1.1 has a type for "=", which definitions use as a string.
yaml.SafeLoader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)


def custom_schemas(folders, kinds):
    schemas = {}
    paths = [path for folder in folders.split(os.pathsep) for path in pathlib.Path(folder).glob("*.yaml")]
    for path in paths:
        text = path.read_text()
        # Definitions are large: files without a needed kind are not parsed.
        if not any(f"kind: {kind}\n" in text for kind in kinds):
            continue
        for definition in yaml.safe_load_all(text):
            if not definition or definition.get("kind") != "CustomResourceDefinition":
                continue
            spec = definition["spec"]
            for version in spec["versions"]:
                key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                schemas[key] = version["schema"]["openAPIV3Schema"]
    return schemas


def main():
    how, source, file = sys.argv[1:]
    documents = [one for one in yaml.safe_load_all(pathlib.Path(file).read_text()) if one]
    mistakes = []
    if how == "schema":
        validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(source).read_text()))
        for document in documents:
            mistakes += [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    else:
        custom = custom_schemas(source, {document["kind"] for document in documents})
        for document in documents:
            name = f"{document['kind']} {document['metadata']['name']}"
            schema = custom.get((document["apiVersion"], document["kind"]))
            if schema is not None:
                errors = jsonschema.Draft7Validator(schema).iter_errors(document)
                mistakes += [f"{name}: {error.json_path}: {error.message}" for error in errors]
                continue
            group = document["apiVersion"].split("/")[0]
            if "." in group and not group.endswith(".k8s.io"):
                mistakes.append(f"{name}: there is no definition of {document['apiVersion']}")
                continue
            try:
                kubernetes_validate.validate(document, "1.33", strict=True)
            except kubernetes_validate.ValidationError as error:
                mistakes.append(f"{name}: {error.message}")
    if mistakes:
        sys.exit("\n".join(mistakes))
    print(len(documents))


main()
