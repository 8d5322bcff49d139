"""Stands in for the package rasa, which Python actions import helpers from.

Legate puts it on the path of an action server whose Python has no rasa. The modules beside this file
work. Any other module of rasa can be imported, so that the actions beside it run; its names are
placeholders, and an action that calls one fails with the reason.
"""

import logging
import sys
from abc import ABCMeta
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

logger = logging.getLogger("rasa")


def _is_special(name):
    return name.startswith("__") and name.endswith("__")


def _fail(placeholder):
    raise ModuleNotFoundError(
        f"{placeholder} needs the package rasa, which is not installed for the Python of these actions",
        name="rasa",
    )


class _Absent(ABCMeta):
    """The type of placeholder classes: they can be subclassed, annotated with and constructed."""

    def __getattr__(cls, name):
        if _is_special(name):
            raise AttributeError(name)
        return _placeholder(f"{cls.__module__}.{cls.__qualname__}.{name}")

    def __getitem__(cls, _):
        return cls

    def register(cls, *given, **named):
        # Of components, not of abstract classes.
        return _placeholder(f"{cls.__module__}.{cls.__qualname__}.register")(*given, **named)


class _Instance:
    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        if _is_special(name):
            raise AttributeError(name)
        return lambda *_, **__: _fail(f"{type(self).__module__}.{type(self).__qualname__}.{name}")

    def __call__(self, *given, **named):
        # A decorator leaves its class or function as it is.
        if len(given) == 1 and not named and callable(given[0]):
            return given[0]
        return _fail(f"{type(self).__module__}.{type(self).__qualname__}")


def _placeholder(path):
    module, _, name = path.rpartition(".")
    bases = (_Instance, Exception) if name.endswith(("Error", "Exception")) else (_Instance,)
    return _Absent(name, bases, {"__module__": module})


class _AbsentModules(MetaPathFinder, Loader):
    """Finds the modules of rasa that are not here."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("rasa."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        module = ModuleType(spec.name)

        def attribute(name):
            if _is_special(name):
                raise AttributeError(name)
            logger.warning("%s.%s needs rasa, which is not installed", spec.name, name)
            return _placeholder(f"{spec.name}.{name}")

        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(_AbsentModules())
