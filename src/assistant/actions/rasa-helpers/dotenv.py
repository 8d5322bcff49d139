"""Stands in for the package python-dotenv, which comes with rasa and which Python actions import.

Steps aside for the package where it is installed.
"""

import importlib.util
import os
import re
import sys
from importlib.machinery import PathFinder

_LINE = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<key>[A-Za-z_][\w.-]*)[ \t]*
    (?:=[ \t]*(?:'(?P<single>(?:\\'|[^'])*)'|"(?P<double>(?:\\.|[^"\\])*)"|(?P<plain>[^\r\n]*)))?""",
    re.MULTILINE | re.VERBOSE,
)
_VARIABLE = re.compile(r"\$\{([^}:]+)(?::-([^}]*))?\}")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def find_dotenv(filename=".env", raise_error_if_not_found=False, usecwd=False):
    """The file in the folder of the caller, or the nearest folder above; an empty text without one."""
    start = os.getcwd() if usecwd else _folder_of_caller()
    folder = os.path.abspath(start)
    while True:
        path = os.path.join(folder, filename)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    if raise_error_if_not_found:
        raise IOError("File not found")
    return ""


def dotenv_values(dotenv_path=None, stream=None, verbose=False, interpolate=True, encoding="utf-8"):
    """The variables of a file, without changing the environment."""
    return _values(_read(dotenv_path, stream, encoding), interpolate, False)


def load_dotenv(
    dotenv_path=None, stream=None, verbose=False, override=False, interpolate=True, encoding="utf-8"
):
    """Sets the variables of a file; those of the environment stay, unless `override` is true."""
    values = _values(_read(dotenv_path, stream, encoding), interpolate, override)
    for key, value in values.items():
        if value is not None and (override or key not in os.environ):
            os.environ[key] = value
    return bool(values)


def get_key(dotenv_path, key_to_get, encoding="utf-8"):
    return dotenv_values(dotenv_path, encoding=encoding).get(key_to_get)


def _folder_of_caller():
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return os.path.dirname(os.path.abspath(frame.f_code.co_filename))


def _read(path, stream, encoding):
    if path is None and stream is not None:
        return stream.read()
    path = path or find_dotenv()
    if not path or not os.path.isfile(path):
        return ""
    with open(path, encoding=encoding) as file:
        return file.read()


def _values(text, interpolate, override):
    values = {}
    for match in _LINE.finditer(text):
        value = _value(match)
        if value is not None and interpolate:
            value = _VARIABLE.sub(lambda one: _look_up(one, values, override), value)
        values[match["key"]] = value
    return values


def _value(match):
    if match["single"] is not None:
        return match["single"].replace("\\'", "'")
    if match["double"] is not None:
        return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), match["double"])
    plain = match["plain"]
    return None if plain is None else re.sub(r"(?:^|\s)#.*", "", plain).strip()


def _look_up(match, values, override):
    sources = (values, os.environ) if override else (os.environ, values)
    for source in sources:
        value = source.get(match[1])
        if value is not None:
            return value
    return match[2] or ""


_here = os.path.dirname(os.path.abspath(__file__))
_spec = PathFinder.find_spec(
    "dotenv", [path for path in sys.path if os.path.abspath(path or ".") != _here]
)
if _spec is not None and _spec.loader is not None:
    _package = importlib.util.module_from_spec(_spec)
    sys.modules["dotenv"] = _package
    _spec.loader.exec_module(_package)
