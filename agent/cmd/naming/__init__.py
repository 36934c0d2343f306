"""Find the class, finding or consumer that the operator means by a typed name, id or beginning of an id.

Begin with prefixes.py (ids by their beginning), then consumer_names.py (consumers by uuid, name or GROUP/VOLUME).
validate_names.py refuses an unknown name and suggests the nearest known names; explain_what.py and explain_code.py
decide what ``stocktake explain`` explains.

What does not belong here: names in a request of ``stocktake why`` (agent/cmd/why_validate.py), and the
text of an explanation (agent/render).
"""
