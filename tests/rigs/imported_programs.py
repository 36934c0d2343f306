"""Import all that Stocktake's programs import, at once: the server of forked programs loads this module."""

import warnings

from agent.cmd.daemon import block_modules

block_modules()
filters = warnings.filters[:]
warnings.simplefilter("ignore")

import gc  # noqa: E402 - after the blocked modules
import importlib  # noqa: E402
import pkgutil  # noqa: E402

import agent  # noqa: E402
import agent.cmd.shell  # noqa: E402 - the programs' first import

for module in pkgutil.walk_packages(agent.__path__, "agent."):
    importlib.import_module(module.name)

# Drivers that SQLAlchemy and oslo.messaging load by name.
for name in (
    "pymysql",
    "sqlalchemy.dialects.mysql.pymysql",
    "sqlalchemy.dialects.sqlite",
    "oslo_messaging._drivers.impl_rabbit",
    "keystoneauth1.loading",
):
    importlib.import_module(name)

warnings.filters[:] = filters  # type: ignore[index]
# Collections in a forked process then leave the imported objects, and so the shared memory, untouched.
gc.freeze()
