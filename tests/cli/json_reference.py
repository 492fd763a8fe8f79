#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Holds JSON answers against the reference in mprof-json(5).

  json_reference.py ROWS OBJECT FILE...

ROWS is what `gendoc --json` printed.  Each JSON value in the FILEs must be an OBJECT of it (or one
of A|B|...): every field is in the reference and has its type, and no field that is always there
is missing.  One line for each violation; exit status 1 if there is any.
"""
import json
import sys

SCALARS = {
    "number": lambda v: type(v) is int and v >= 0,
    "integer": lambda v: type(v) is int,
    "fraction": lambda v: type(v) in (int, float),
    "boolean": lambda v: type(v) is bool,
    "string": lambda v: type(v) is str,
    "null": lambda v: v is None,
}


def read_rows(path):
    """{object: ([(name, type, may be missing)], ...)}"""
    objects = {}
    with open(path, encoding="utf-8") as rows:
        for row in rows:
            _, name, field, kind, optional = row.rstrip("\n").split("\t")
            objects.setdefault(name, []).append((field, kind, optional == "1"))
    return objects


class Reference:
    def __init__(self, path):
        self.objects = read_rows(path)

    def fields(self, name, optional=False):
        """{field: (set of types, may be missing)}, those of other objects included."""
        found = {}
        for field, kind, missing in self.objects[name]:
            more = (self.fields(kind, optional or missing) if field == "+" else
                    {field: ({kind}, optional or missing)})
            for key, (kinds, may) in more.items():
                old = found.get(key, (set(), True))
                found[key] = (old[0] | kinds, old[1] and may)
        return found

    def object(self, value, name, at):
        if type(value) is not dict:
            return [f"{at}: is not an object '{name}'"]
        return self.group(value, self.fields(name), at, "")

    def group(self, value, fields, at, prefix):
        wrong = []
        for key, member in value.items():
            name, here = prefix + key, f"{at}.{key}"
            if name in fields and not (type(member) is dict and self.is_group(fields, name)):
                errors = [self.typed(member, kind, here) for kind in fields[name][0]]
                wrong += min(errors, key=len)
            elif type(member) is dict and self.is_group(fields, name):
                wrong += self.group(member, fields, here, name + ".")
            else:
                wrong.append(f"{here}: is not in the reference")
        for name, (_, optional) in fields.items():
            if name.startswith(prefix) and not optional and not self.has(value, name[len(prefix):]):
                wrong.append(f"{at}.{name}: is missing")
        return wrong

    @staticmethod
    def is_group(fields, name):
        return any(field.startswith(name + ".") for field in fields)

    @staticmethod
    def has(value, name):
        for part in name.split("."):
            if value is None:
                return True  # a group that is null
            if part not in value:
                return False
            value = value[part]
        return True

    def one_of(self, value, names, at):
        return min((self.object(value, name, at) for name in names), key=len)

    def typed(self, value, kind, at):
        if kind.endswith(" or null"):
            return [] if value is None else self.typed(value, kind[:-8], at)
        if kind in SCALARS:
            return [] if SCALARS[kind](value) else [f"{at}: {value!r:.40} is not of type {kind}"]
        if kind in ("array of strings", "array of numbers"):
            kind = kind[9:-1]
            good = type(value) is list and all(SCALARS[kind](v) for v in value)
            return [] if good else [f"{at}: is not an array of {kind}s"]
        if kind.startswith("array of "):
            if type(value) is not list:
                return [f"{at}: is not an array"]
            return [e for i, v in enumerate(value)
                    for e in self.one_of(v, kind[9:].split(" or "), f"{at}[{i}]")]
        if type(value) is not dict:
            return [f"{at}: is not an object"]
        if kind == "object of numbers":
            return [f"{at}.{k}: is not a number" for k, v in value.items()
                    if not SCALARS["number"](v)]
        if kind.startswith("objects "):
            return [e for k, v in value.items() for e in self.object(v, kind[8:], f"{at}.{k}")]
        return self.object(value, kind.split(" ", 1)[1], at)


def values(path):
    """The JSON values in a file, one behind the other."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    decoder, at = json.JSONDecoder(), 0
    while text[at:at + 1].isspace():
        at += 1
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while text[at:at + 1].isspace():
            at += 1


def main():
    reference, wrong, seen = Reference(sys.argv[1]), [], 0
    for path in sys.argv[3:]:
        for value in values(path):
            seen += 1
            for one in value if type(value) is list else [value]:
                wrong += reference.one_of(one, sys.argv[2].split("|"), path)
    if not seen:
        wrong.append("no answer")
    print("\n".join(wrong[:20]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
