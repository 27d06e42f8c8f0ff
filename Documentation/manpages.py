# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# For Sphinx: the manual pages that are written by hand, of commands, the device and the library, as
# pages of the HTML; and names of functions in prose, as links to their reference.

import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

TOP = Path(__file__).resolve().parent
FUNCTION = re.compile(r"(gda_\w+)\(\)$")
FONTS = {"B": "**", "I": "*"}


def plain(text):
    """A line of man's text as text of reStructuredText."""
    text = re.sub(r"\\f[BIRP]", "", text)
    for old, new in ((r"\-", "-"), (r"\e", "\\"), (r"\&", ""), (r"\(bu", "*"), (r"\(aq", "'"),
                     (r"\(lq", '"'), (r"\(rq", '"')):
        text = text.replace(old, new)
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("|", "\\|")


def words(rest):
    """The arguments of a macro: quoted ones keep their blanks."""
    return [a or b for a, b in re.findall(r'"((?:[^"]|"")*)"|(\S+)', rest)]


def fonts(macro, rest):
    """.B, .I and their mixtures, .BR and others."""
    out = ""
    parts = words(rest)
    if len(macro) == 1:
        parts = [" ".join(parts)]
    for number, part in enumerate(parts):
        mark = FONTS.get(macro[number % len(macro)], "")
        body = plain(part)
        inner = body.strip()
        if mark and inner:
            lead, tail = body[:len(body) - len(body.lstrip())], body[len(body.rstrip()):]
            body = f"{lead}{mark}{inner}{mark}{tail}"
        # the marks of a word end where it does: a blank that prints nothing is between two
        out += ("\\ " if out and not out[-1].isspace() and body[:1].strip() else "") + body
    return out


class Page:
    """One page of Documentation/man, as reStructuredText."""

    def __init__(self, path):
        self.out, self.paragraph, self.indent = [], [], ""
        self.literal, self.tag, self.stack = False, False, []
        self.title = path.name.rsplit(".", 1)
        for line in path.read_text(encoding="utf-8").splitlines():
            self.line(line)
        self.flush()

    def flush(self):
        if self.paragraph:
            self.out += ["", self.indent + " ".join(self.paragraph)]
        self.paragraph = []

    def line(self, line):
        m = re.match(r"\.(\w+)\s*(.*)", line)
        if self.literal:
            if m and m.group(1) in ("EE", "fi"):
                self.literal = False
            elif m and set(m.group(1)) <= set("BIR"):
                self.out.append(self.indent + "    " + "".join(words(m.group(2)))
                                if len(m.group(1)) > 1 else self.indent + "    " + m.group(2))
            elif not m:
                self.out.append(self.indent + "    " + re.sub(r"\\[-e&]", lambda x: {
                    r"\-": "-", r"\e": "\\", r"\&": ""}[x.group(0)], re.sub(r"\\f[BIRP]", "", line)))
            return
        if m:
            self.macro(m.group(1), m.group(2))
        elif line.startswith(("'", ".")):
            return
        elif line.strip():
            self.text(plain(line))

    def text(self, text):
        if self.tag:
            self.flush()
            self.out += ["", self.indent + text]
            self.indent += "    "
            self.tag = False
        else:
            self.paragraph.append(text)

    def macro(self, name, rest):
        if name in ("B", "I", "R", "BR", "RB", "IR", "RI", "BI", "IB"):
            self.text(fonts(name, rest))
        elif name in ("SH", "SS"):
            self.flush()
            self.indent, self.stack = "", []
            title = plain(rest.strip('"')).capitalize() if name == "SH" else plain(rest.strip('"'))
            self.out += ["", title, ("=" if name == "SH" else "-") * len(title)]
        elif name in ("TP", "IP", "PP", "P", "LP"):
            self.flush()
            self.indent = self.stack[-1] if self.stack else ""
            self.tag = name == "TP"
            if name == "IP" and words(rest):
                self.tag = True
                self.text(plain(words(rest)[0]))
        elif name == "RS":
            self.flush()
            self.stack.append(self.indent)
        elif name == "RE":
            self.flush()
            self.indent = self.stack.pop() if self.stack else ""
        elif name == "br":
            self.flush()
        elif name in ("EX", "nf"):
            self.flush()
            self.out += ["", self.indent + "::", ""]
            self.literal = True
        elif re.fullmatch(r"@[A-Z]+@", rest):
            return

    def rst(self):
        title = f"{self.title[0]}({self.title[1]})"
        return "\n".join([".. SPDX-License-Identifier: GPL-2.0 OR MIT", "", "=" * len(title), title,
                          "=" * len(title)] + self.out) + "\n"


def write_pages(app):
    """Documentation/commands/NAME.rst of each; they are made anew, and not of the tree."""
    folder = Path(app.srcdir) / "commands"
    folder.mkdir(exist_ok=True)
    for path in sorted((TOP / "man").glob("*.[1-8]")):
        text = Page(path).rst()
        text = re.sub(r"@(IOCTLS|ERRORS|FUNCTIONS)@", "", text)
        target = folder / (path.name + ".rst")
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


class FunctionLinks(SphinxPostTransform):
    """``gda_put()`` in prose leads to its reference, if there is one."""

    default_priority = 500

    def run(self, **kwargs):
        domain = self.env.get_domain("c")
        found = {name.split(".")[-1]: (name, doc, anchor) for name, _, kind, doc, anchor, _ in
                 domain.get_objects() if kind == "function"}
        for literal in list(self.document.findall(nodes.literal)):
            m = FUNCTION.match(literal.astext())
            if not m or m.group(1) not in found or isinstance(literal.parent, nodes.reference):
                continue
            _, doc, anchor = found[m.group(1)]
            uri = self.app.builder.get_relative_uri(self.env.docname, doc)
            reference = nodes.reference("", "", internal=True, refuri=f"{uri}#{anchor}")
            literal.replace_self(reference)
            reference += literal


def setup(app):
    app.connect("builder-inited", write_pages)
    app.add_post_transform(FunctionLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
