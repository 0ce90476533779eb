"""What GitHub would refuse in an issue form, by the rules that it has published.

They are those of "Syntax for issue forms", "Syntax for GitHub's form schema" and "Common validation errors
when creating issue forms" in its documentation. Where an id makes two equal labels lawful, labels differ here
all the same: the issue that comes of the form shows labels alone.
"""

from __future__ import annotations

import re
from collections import Counter

TOP = {"name": str, "description": str, "body": list, "title": str, "type": str}
TOP |= {"labels": (list, str), "assignees": (list, str), "projects": (list, str)}
TEXT = {"label": str, "description": str, "placeholder": str, "value": str}
ELEMENTS = {  # what an element may say, and what it must
    "markdown": ({"value": str}, {"value"}),
    "input": (TEXT, {"label"}),
    "textarea": (TEXT | {"render": str}, {"label"}),
    "dropdown": (
        {"label": str, "description": str, "multiple": bool, "options": list, "default": int},
        {"label", "options"},
    ),
    "checkboxes": ({"label": str, "description": str, "options": list}, {"label", "options"}),
}
REQUIRED = {"name", "description", "body"}
_SECRET = re.compile("password", re.IGNORECASE)  # a form must not ask for what nobody should post


def faults(form: object) -> list[str]:
    """Return what GitHub would refuse in an issue form."""
    if not isinstance(form, dict):
        return ["not a mapping"]
    found = _keys("the form", form, TOP, REQUIRED)
    body = form.get("body")
    body = body if isinstance(body, list) else []
    for i, element in enumerate(body):
        found += _element(f"body[{i}]", element)
    asked = [one for one in body if isinstance(one, dict) and one.get("type") != "markdown"]
    if not asked:
        found.append("nothing is asked")
    labels = [label for one in asked for label in _labels(one)]
    found += [f"label {label!r}: GitHub forbids the word" for label in labels if _SECRET.search(str(label))]
    for name, values in (("id", [one["id"] for one in asked if "id" in one]), ("label", labels)):
        found += [f"{name} {value!r} comes twice" for value, n in Counter(values).items() if n > 1]
    return found


def _labels(element: dict) -> list:
    """Return the label of an element, and those of its boxes."""
    told = element.get("attributes") or {}
    boxes = told.get("options") or [] if element.get("type") == "checkboxes" else []
    return [told.get("label"), *(box.get("label") for box in boxes if isinstance(box, dict))]


def _keys(where: str, given: dict, kinds: dict, required: set[str]) -> list[str]:
    found = [f"{where} has no {name}" for name in sorted(required - set(given))]
    for name, value in given.items():
        if name not in kinds:
            found.append(f"{where}: {name} is unknown")
        elif not isinstance(value, kinds[name]) or (kinds[name] is int and isinstance(value, bool)):
            found.append(f"{where}: {name} is {value!r}")
        elif (name in required and not value) or (isinstance(value, str) and not value.strip()):
            found.append(f"{where}: {name} is empty")
    return found


def _element(where: str, element: object) -> list[str]:
    if not isinstance(element, dict) or element.get("type") not in ELEMENTS:
        return [f"{where} has no type that GitHub knows"]
    kinds, required = ELEMENTS[element["type"]]
    told = {"type": str, "id": str, "attributes": dict, "validations": dict}
    found = _keys(where, element, told, {"attributes"})
    found += _keys(f"{where}.attributes", element.get("attributes") or {}, kinds, required)
    found += _keys(f"{where}.validations", element.get("validations") or {}, {"required": bool}, set())
    if element["type"] in ("markdown", "checkboxes") and element.get("validations"):
        found.append(f"{where}: a {element['type']} has no validations")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", str(element.get("id", "a"))):
        found.append(f"{where}: id {element['id']!r}")
    options = (element.get("attributes") or {}).get("options") or []
    if element["type"] == "checkboxes":
        for i, option in enumerate(options):
            given = option if isinstance(option, dict) else {}
            found += _keys(f"{where}.options[{i}]", given, {"label": str, "required": bool}, {"label"})
    elif not all(isinstance(option, str) for option in options) or len(set(map(str, options))) < len(options):
        found.append(f"{where}: options are texts, each once")
    elif "None" in options or "none" in options:
        found.append(f"{where}: GitHub adds 'None' itself")
    return found
