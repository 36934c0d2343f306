"""Send single requests to Placement over keystoneauth, and turn every answer into a value or one error.

Begin with ``client.py``: PlacementClient has the verbs, and all of them go through ``_send``. ``access.py`` builds the
client from ``[placement]``. ``answers.py`` maps HTTP statuses and library exceptions to agent/errors.py, and
``error_hints.py`` names the option that the operator should check.

``session.py`` and ``catalog.py`` correct faults of keystoneauth; ``transport.py``, ``question_time.py`` and
``bounds.py`` limit the time and the size of an answer. ``retry_after.py``, ``rate_control.py`` and
``throttled_session.py`` decide how long the client waits. docs/placement.md lists every failure and its outcome.

Not here: the JSON of Placement, the paths, and the order of requests in a read or a write (``agent/placement/``).
"""
