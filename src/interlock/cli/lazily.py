"""Modules that are loaded when something of them is first used, so that `--help` needn't wait for them."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def lazily(name: str) -> ModuleType:
    """The module; it runs at the first look at one of its names."""
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"expected a module {name!r}, found none", name=name)
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
