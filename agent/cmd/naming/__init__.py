"""Find the resource class, finding or consumer that the operator means by a typed text.

Begin with prefixes.py: it finds an id by the first characters. consumer_names.py finds a consumer by its uuid or name,
and an LVM volume by VOLUME_GROUP/VOLUME. validate_names.py refuses an unknown name and suggests the nearest known
names. explain_what.py and explain_code.py decide what ``stocktake explain`` explains.

What does not belong here: checks of the arguments of ``stocktake why`` (agent/cmd/why_validate.py), and the text of an
explanation (agent/render).
"""
