# SPDX-License-Identifier: LGPL-3.0-or-later
"""patterns.py - does a stack match what a victim said of it?  victims/stack.h has the grammar."""

import os
import re

OUTER = {"!truncated": "T", "!lost": "L"}
FRAME = "[^;]*"


def fold_templates(name):
    """box<a, b<c>>::f -> box<...>::f; operators keep their signs."""
    out, depth = "", 0
    guarded = re.sub(r"operator(<=>|<<=?|>>=?|->\*?|<=?|>=?)",
                     lambda m: "operator" + m[1].replace("<", "\1").replace(">", "\2"), name)
    for c in guarded:
        if c == "<":
            depth += 1
            out += "<...>" if depth == 1 else ""
        elif c == ">" and depth:
            depth -= 1
        elif not depth:
            out += c
    return out.replace("\1", "<").replace("\2", ">")


def plain(name):
    """A function's name without parameters, clone suffixes and template arguments."""
    if not name or name == "??":
        return ""
    name = name.replace("(anonymous namespace)", "\3").replace("operator()", "\4")
    name = re.sub(r" \[clone [^]]*\]", "", name)
    name = fold_templates(name.split("(")[0].split("@")[0])
    name = re.sub(r"\.(constprop|isra|part|cold|lto_priv|llvm)\b.*", "", name)
    name = name.replace("\3", "(anonymous namespace)").replace("\4", "operator()")
    return name.replace(" ", "_")


def token(name, module):
    """A frame as the text that patterns are matched against."""
    return "%s@%s;" % (plain(name), os.path.basename(module) if module else "-")


def word_pattern(word):
    if word == "...":
        return "(?:%s;)*" % FRAME
    times = ""
    found = re.search(r"(\*\d+|[+~])$", word)
    if found and not word.startswith("operator"):
        times, word = found[1], word[:found.start()]
    elif found:  # of an operator's own name only a repetition
        times = found[1] if found[1][0] != "~" else ""
        word = word[:found.start()] if times else word
    times = {"": "", "+": "+", "~": "?"}.get(times) if times[:1] != "*" else "{%s}" % times[1:]
    if word.startswith("@"):
        one = FRAME + re.escape(word) + FRAME + ";"
    elif word == "?":
        one = FRAME + "@[^-;]" + FRAME + ";"
    elif word == "-":
        one = FRAME + "@-;"
    else:
        one = re.escape(word) + "@" + FRAME + ";"
    return "(?:%s)%s" % (one, times)


class Pattern:
    """inner: outside of main it may end."""

    def __init__(self, words, inner=False):
        self.end = ""
        if inner and "main" in words:
            words = words[:words.index("main") + 1] + ["...", "!any"]
        if words and words[-1].startswith("!"):
            self.end = words[-1]
            words = words[:-1]
        self.text = " ".join(words)
        self.regex = re.compile("".join(word_pattern(w) for w in words))

    def problem(self, tokens, flags):
        """None, or what is wrong.  tokens: innermost first; flags: of T and L, TL is either."""
        wanted = OUTER.get(self.end, "")
        if self.end != "!any" and flags != wanted and not (wanted and flags == "TL"):
            return "ends '%s', not '%s': %s" % (flags, OUTER.get(self.end, ""), shown(tokens))
        if not self.regex.fullmatch("".join(tokens)):
            return "%s does not match '%s'" % (shown(tokens), self.text[:300])
        return None


def shown(tokens):
    """A stack for a message, repetitions folded."""
    out, last, times = [], None, 0
    for t in list(tokens) + [None]:
        if t == last:
            times += 1
            continue
        if last is not None:
            out.append(last.rstrip(";") + ("*%d" % times if times > 1 else ""))
        last, times = t, 1
    text = " ".join(out)
    return text if len(text) < 900 else text[:600] + " ... " + text[-250:]
