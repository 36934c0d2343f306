"""What the operator typed, and what it means: classes, findings and consumers by name, id or the beginning of an id.

Begin with prefixes.py (ids by their beginning), then consumer_names.py (consumers by uuid, name or GROUP/VOLUME).
validate_names.py refuses what nothing is called and suggests what is; explain_what.py and explain_code.py decide what
``stocktake explain`` explains.

Not here: names in a request of ``stocktake why`` (agent/cmd/why_validate.py), and the text of an explanation
(agent/render).
"""
