#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# man.py DIR - the manual pages, into DIR/man1, man3, man4 and man7
#
# Section 3 has a page for each function of the library, made from the kernel-doc of
# lib/include/gda/*.h: what it does, the structures it takes with their members, what
# it returns, with a list of the errors. The others are written by hand, but for
# the list of ioctls and errors, which come out of uapi/gda/ioctl.h.

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

functions = {}
TOP = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^/\*\*\n(.*?)^ \*/\n(.*?)(?=^/\*|\Z)", re.M | re.S)
ERRNO = re.compile(r"(?:^|(?<=[;:,]) )(?=(?:and )?-E[A-Z0-9]+\b)")
# Structures whose members no caller of most functions needs, and the page that has them.
OPAQUE = {"gda_view": "", "gda_cq_view": "", "gda_gin": "gda_gin_context",
          "gda_window": "gda_window_register", "gda_shmem": "gda_shmem_create",
          "gda_async_workspace": "gda_async_create", "gda_async_session": "gda_async_open"}
# Programs of examples/ that examples are taken from, in this order, and the functions that must
# have one: a first program calls them.
PROGRAMS = ["tutorial/" + x for x in (
    "hello.c", "put.c", "errors.c", "signal.c", "sleep.c", "threads.c", "calls.c", "processes.c",
    "gpu.cu", "shmem.c")] + [
        "gin-allgather.c", "gin-ranks.c", "gin-halo.c", "async/simple_get.c", "async/put_notify.c",
        "async/ranks.c", "async/simple_get_peer.c", "async/tiles.c", "dpa-alltoall.c",
        "shmem-ring.c", "shmem-dispatch.c", "gin-alltoall.c", "gin-allreduce.c", "gin-dispatch.c", "async/batch_get.c",
        "window.c", "wire.c", "gda-recv.c", "gda-send.c", "report.c"]
FIRST = """gda_open gda_close gda_context_query gda_last_error gda_strerror gda_qp_create
           gda_qp_address gda_qp_connect gda_qp_view gda_qp_destroy gda_mr_reg gda_mr_dereg
           gda_mr_key gda_mr_iova gda_put gda_put_signal gda_put_value gda_put_imm gda_put_inline gda_get
           gda_fetch_add gda_compare_swap gda_wait gda_test gda_quiet gda_flush gda_nop gda_error
           gda_cq_create gda_cq_sleep gda_cq_event gda_cq_poll
           gda_devices gda_explain gda_counter_create gda_counter_memory gda_qp_query gda_masked_fetch_add
           gda_comm_create gda_comm_allgather gda_comm_barrier
           gda_cuda_open gda_cuda_qp_create gda_cuda_mr_reg gda_cuda_qp_view
           gda_gin_create gda_window_register gda_gin_context gda_gin_put gda_gin_wait_signal
           gda_shmem_create gda_shmem_put gda_shmem_put_signal gda_shmem_get gda_shmem_wait_until64
           gda_shmem_atomic_fetch64 gda_shmem_quiet gda_async_create gda_async_open
           gda_async_get gda_async_wait gda_async_put_rows gda_async_notify gda_dpa_create gda_dpa_launch
           gda_dpa_event_create gda_dpa_alloc""".split()
# Names of requirements, which tests bear: they mean nothing to a reader of the manual.
REQUIREMENT = re.compile(r"\s*\((?:[A-Z]-\d+(?:, )?)+\)|\b[A-Z]-\d+(?:, [A-Z]-\d+)*[:.] ?")
# Flags of the same name but for their ends, as kernel-doc writes them: GDA_ACCESS_*.
flags = {}
# All flags that a define documents, for parameters that name some of them.
documented = {}
errno_text = {}
# Enumerations, for members and results that are of one.
enums = {}
# Inline functions that are no symbols of the library, and the header that programs include.
HELPERS = {"gda_clock_ns": "fastpath"}
# The errors that the head of gda/dpa.h names for all calls of the host that neither report nor destroy.
DPA_ERRORS = [(["-ENOTRECOVERABLE"], "the context is fatal: gda_dpa_error() says why"),
              (["-ENODEV"], "the context was created before fork(2), by the parent")]
DPA_ALWAYS = ("_query", "_create", "_destroy", "_error", "_log_read", "_log_dropped", "_address")
# Pairs of errnos and reasons that the calls of gda/shmem.h share.
shmem_errors = []


class Doc:
    """One kernel-doc comment and the declaration below it."""

    def __init__(self, header, comment, code):
        comment = REQUIREMENT.sub("", comment)
        lines = [re.sub(r"^ \* ?", "", x).rstrip() for x in comment.splitlines()]
        self.header = header
        title = lines.pop(0)
        while lines and lines[0] and not lines[0].startswith("@"):
            title += " " + lines.pop(0).strip()
        m = re.match(r"(?:(struct|enum|define|DOC:)\s+)?(\w+)(?:\(\))? - (.*)", title)
        self.kind, self.name, self.purpose = m.groups() if m else ("DOC:", title, "")
        self.params, self.body, self.returns = [], [], ""
        self.parse(lines)
        self.code = code

    def parse(self, lines):
        paragraph = []
        target = None
        for line in lines + [""]:
            m = re.match(r"@([\w.]+): (.*)", line)
            if m:
                self.params.append([m.group(1), m.group(2)])
                target = "param"
            elif line.startswith("Return: "):
                self.returns = line[len("Return: "):]
                target = "return"
            elif not line:
                if paragraph:
                    self.body.append(paragraph)
                paragraph, target = [], None
            elif target == "param":
                self.params[-1][1] += " " + line.strip()
            elif target == "return":
                self.returns += " " + line.strip()
            else:
                paragraph.append(line)

    def prototype(self):
        m = re.match(r"(?:GDA_(?:(?:HOST_|SIZED_)?API|HELPER) )?([^;{]*?)\s*([;{]|$)", self.code, re.S)
        return re.sub(r"\s+", " ", m.group(1))

    def definition(self):
        m = re.match(r"struct \w+ \{.*?^\}[^;]*;", self.code, re.S | re.M)
        return re.sub(r"\s*/\*.*?\*/", "", m.group(0)) if m else ""


def load(path, header):
    for m in BLOCK.finditer(path.read_text(encoding="utf-8")):
        yield Doc(header, m.group(1), m.group(2))


def escape(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def markup(text):
    """kernel-doc's words to fonts: @parameter, %CONSTANT, function(), struct x, -EX."""
    text = escape(text)
    text = re.sub(r"@(\w+)", r"\\fI\1\\fP", text)
    text = re.sub(r"%(\w+)", r"\\fB\1\\fP", text)
    text = re.sub(r"\b(gda_\w+)\(\)", lambda m: rf"\fB{m.group(1)}\fP" +
                  ("(3)" if m.group(1) in functions else "()"), text)
    text = re.sub(r"\b(\w+)\((\d)\)", lambda m: m.group(0) if m.group(1).startswith("fP")
                  else rf"\fB{m.group(1)}\fP({m.group(2)})", text)
    text = re.sub(r"\b((?:struct|enum) gda_\w+)", r"\\fI\1\\fP", text)
    text = re.sub(r"(\\-E[A-Z0-9]+)\b", r"\\fB\1\\fP", text)
    text = re.sub(r"\\fB\\fB(.*?)\\fP\\fP", r"\\fB\1\\fP", text)
    lines = textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join(re.sub(r"^([.'])", r"\\&\1", x) for x in lines)


def paragraphs(body):
    out = []
    for number, lines in enumerate(body):
        if number:
            out.append(".PP")
        bullet = re.match(r"\s*[-*] ", lines[0])
        text = []
        for line in lines:
            if bullet and re.match(r"\s*[-*] ", line):
                if text:
                    out.append(markup(" ".join(text)))
                out.append(".IP \\(bu 2")
                text = [re.sub(r"^\s*[-*] ", "", line)]
            else:
                text.append(line.strip())
        out.append(markup(" ".join(text)))
    return out


def errors_of(text):
    """The prose before the first errno, and pairs of errnos and the reason."""
    prose, pairs, waiting = "", [], []
    for part in (p.strip() for p in ERRNO.split(text) if p.strip()):
        m = re.match(r"(?:and )?(-E[A-Z0-9]+)(.*)", part, re.S)
        if not m:
            prose = part
            continue
        why = m.group(2).strip(" ,:;.")
        if why:
            pairs.append((waiting + [m.group(1)], why))
            waiting = []
        elif m.group(2).startswith(","):
            waiting.append(m.group(1))
        else:
            name = m.group(1)[1:]
            pairs.append((waiting + [m.group(1)], errno_text.get(name, "")))
            waiting = []
    if waiting:
        pairs.append((waiting, errno_text.get(waiting[0][1:], "")))
    return prose, pairs


def referred(text, depth=2):
    """The functions whose errors @text says are its own, too: "as gda_put()"."""
    names = re.findall(r"(?:\bas|\bwhat|those of) ((?:gda_\w+\(\)(?: and )?)+)", text)
    found = [n for group in names for n in re.findall(r"gda_\w+", group) if n in functions]
    if depth:
        for name in list(found):
            found += referred(functions[name].returns, depth - 1)
    return list(dict.fromkeys(found))


def error_items(pairs, seen):
    out = []
    for names, why in pairs:
        fresh = [n for n in names if n not in seen]
        if not fresh:
            continue
        seen.update(fresh)
        out += [".TP", ".B " + escape(", ".join(fresh)), markup(sentence(why))]
    return out


def answer(text):
    """Prose, pairs of errnos and the reason, and sentences that follow. "as gda_put(); -EMSGSIZE
    also if ..." has the errnos of gda_put(), and of the same errno both reasons."""
    m = re.match(r"(.*?negative errno), see gda/shmem\.h(?:[;:] (.*))?", text, re.S)
    if m:
        return m.group(1) + ":", list(shmem_errors), [m.group(2)] if m.group(2) else []
    m = re.match(r"as (gda_\w+)\(\)(?:[.;:]$|[;:] (.*))", text.rstrip(), re.S)
    if not m or m.group(1) not in functions:
        prose, pairs = errors_of(text)
        after = []
        for i, (names, why) in enumerate(pairs):
            why, dot, rest = why.partition(". ")
            pairs[i] = (names, why)
            after += [rest] if dot and rest else []
        return prose, pairs, after
    prose, pairs, after = answer(functions[m.group(1)].returns)
    own = m.group(2) or ""
    if not own.startswith("-E"):
        return prose, pairs, after + [own] if own else after
    for names, why in answer(own)[1]:
        same = [p for p in pairs if names[0] in p[0]]
        if same:
            i = pairs.index(same[0])
            pairs[i] = (same[0][0], f"{same[0][1]}; {why}")
        else:
            pairs.append((names, why))
    return prose, pairs, after + answer(own)[2]


def returns(doc):
    """Prose, each errno an entry of a list, and the errors of functions that it refers to."""
    prose, pairs, after = answer(doc.returns)
    pairs = [p for p in pairs if names_own(p[1], doc)]
    if prose.strip(" ;:.") == "0":
        prose = "0 on success, or a negative errno:" if pairs else "0 on success."
    prose = sentence(prose) if prose else ""
    out = [markup(prose.rstrip(".") + ":" if pairs else prose)] if prose else []
    seen = set()
    out += enumerators(prose, seen)
    out += error_items(pairs, seen)
    for rest in after:
        out += [".PP", markup(sentence(rest))]
    for name in referred(doc.returns):
        if name == doc.name:
            continue
        items = error_items([p for p in answer(functions[name].returns)[1]
                             if names_own(p[1], doc)], seen)
        if items:
            out += [".PP", markup(f"In addition, as {name}():")] + items
    if doc.header == "dpa" and pairs and not doc.name.endswith(DPA_ALWAYS):
        out += [".PP", "As every call of a context:"] + error_items(DPA_ERRORS, seen)
    return out


def names_own(why, doc):
    """Is a reason about a parameter that this function has, and not only the one it refers to?"""
    m = re.match(r"@(\w+) is", why)
    return not m or m.group(1) in [name for name, _ in doc.params]


def enumerators(text, seen):
    """The values of the enumerations that @text names, once a page."""
    out = []
    for name in re.findall(r"\benum (gda_\w+)", text):
        if name not in enums or name in seen:
            continue
        seen.add(name)
        out += [".RS"]
        for value, why in enums[name].params:
            out += [".TP", f".B {value}", markup(sentence(why))]
        out += [".RE"]
    return out


def sentence(text):
    text = text.rstrip(" ;:,")
    if re.match(r"(?!enum |struct )[a-z]+[ ,;:.]|[a-z]+$", text):
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", ":", "?")) else text + "."


def synopsis(doc):
    out = [".nf", f".B #include <gda/{doc.header}.h>", ".PP"]
    proto = doc.prototype()
    m = re.match(r"(.*?)(\w+)\((.*)\)$", proto)
    head = m.group(1) + m.group(2) + "("
    line, lines = head, []
    args = m.group(3).split(", ")
    for number, arg in enumerate(args):
        word = arg + (");" if number + 1 == len(args) else ", ")
        if len(line) + len(word) > 76 and line != head:
            lines.append(line.rstrip())
            line = " " * len(head)
        line += word
    for text in lines + [line]:
        text = re.sub(r"(\w+)([,)])", r"\\fI\1\\fP\2", escape(text))
        out.append(f"\\fB{text}\\fP" if text.startswith(" ") else "\\fB" + text + "\\fP")
    return [x.replace("\\fI", "\\fP\\fI").replace("\\fP\\fP", "\\fP").replace(
        "\\fP,", "\\fP\\fB,").replace("\\fP)", "\\fP\\fB)") for x in out] + [".fi"]


def described(text, seen):
    """A parameter's text; "any of the flags below" for a wildcard that flag_list() explains next."""
    def words(m):
        pattern = m.group(1)
        if pattern not in flags or pattern in seen:
            return m.group(0)
        noun = {"GDA_ACCESS_*": "rights", "GDA_FEATURE_*": "features"}.get(pattern, "flags")
        return f"any of the {noun} below, or 0"
    text = re.sub(r"^out\b(?!:)", "set by the call", text)
    return markup(sentence(re.sub(r"(GDA_(?:[A-Z]+_)*\*)(?: bits)?", words, text)))


def flag_list(text, seen):
    """The flags that @text names by a wildcard, each with what it says, once a page."""
    out = []
    for pattern in (p for p in flags if p in text and p not in seen):
        seen.add(pattern)
        seen.update(name for name, _ in flags[pattern])
        out += [".RS"]
        for name, why in flags[pattern]:
            out += [".TP", f".B {name}", markup(sentence(why))]
        out += [".RE"]
    names = [n for n in re.findall(r"%(GDA_\w+)", text) if n in documented and n not in seen]
    if names and not any(p in text and p.startswith("%") for p in flags):
        seen.update(names)
        out += [".RS"]
        for name in dict.fromkeys(names):
            out += [".TP", f".B {name}", markup(sentence(documented[name]))]
        out += [".RE"]
    return out + enumerators(text, seen)


def function_of(text, name):
    """The function of a program that calls @name, with the comment above it."""
    for m in re.finditer(r"^(?:/\*(?:(?!\*/).)*\*/\n)?^(?:static |int |void )[^\n;]*\([^;{]*\)\n\{\n.*?^\}\n",
                         text, re.M | re.S):
        if re.search(rf"\b{name}\(", m.group(0)):
            return m.group(0)
    return ""


def example(name):
    for program in PROGRAMS:
        path = TOP / "examples" / program
        code = function_of(path.read_text(encoding="utf-8"), name)
        if not code:
            continue
        helper = re.search(r"\b(MUST|must)\(", code)
        out = [".SH EXAMPLE", markup(
            f"From examples/{program} of the source" +
            (", which the tutorial explains" if program.startswith("tutorial/") else "") +
            (f"; {helper.group(1)}() ends the program if a call fails:" if helper else ":")),
            ".PP", ".in +4n", ".EX"]
        out += [re.sub(r"^([.'])", r"\\&\1", escape(x)) for x in
                code.expandtabs(8).splitlines()]
        return out + [".EE", ".in"]
    if name in FIRST:
        sys.exit(f"man.py: no program of PROGRAMS calls {name}()")
    return []


def structures(doc, types, seen):
    out = []
    names = list(dict.fromkeys(re.findall(r"struct (\w+)", doc.prototype())))
    for name in list(names):  # and those that the caller's structures point to
        if name in types and name not in OPAQUE:
            names += re.findall(r"const struct (\w+) \*", types[name].definition())
    for name in dict.fromkeys(names):
        if name not in types or not types[name].definition():
            continue
        if OPAQUE.get(name, doc.name) != doc.name:
            continue
        t = types[name]
        out += [f".SS struct {name}", markup(sentence(t.purpose)),
                ".PP", ".in +4n", ".EX"]
        out += [escape(x) for x in t.definition().expandtabs(4).splitlines()]
        out += [".EE", ".in"]
        for member, text in t.params:
            out += [".TP", f".I {member}", described(text, seen)] + flag_list(text, seen)
        if t.body:
            out += [".PP"] + paragraphs(t.body)
    return out


def see_also(doc, names):
    text = " ".join([doc.returns] + [" ".join(p) for p in doc.body] +
                    [p[1] for p in doc.params] + [" ".join(example(doc.name))])
    refs = {n for n in re.findall(r"\b(gda_\w+)\(", text) if n in names}
    family = re.match(r"gda_[a-z]+_", doc.name)
    if family:
        refs |= {n for n in names if n.startswith(family.group(0))}
    refs = [f".BR {n} (3)," for n in sorted(refs - {doc.name})]
    return [".SH SEE ALSO"] + refs + [".BR gda (4),", ".BR gda (7)"]


def page(doc, types, names, version, date):
    out = [f'.TH {doc.name.upper()} 3 {date} "libgda {version}" "GDA Programmer\'s Manual"',
           ".SH NAME", f"{doc.name} \\- {escape(doc.purpose.replace('%', ''))}",
           ".SH LIBRARY", "GDA library",
           "(libgda, \\-lgda)", ".SH SYNOPSIS"]
    out += synopsis(doc)
    out.append(".SH DESCRIPTION")
    if doc.body:
        out += paragraphs(doc.body)
    else:
        out.append(markup(sentence(doc.purpose)))
    seen = set()
    for name, text in doc.params:
        out += [".TP", f".I {name}", described(text, seen)] + flag_list(text, seen)
    if re.match(r"GDA_(SIZED_)?API ", doc.code):
        out += [".PP", f"The function is inline in \\fI<gda/{doc.header}.h>\\fP, for C, C++ and",
                "CUDA device code; the library exports the same text as a symbol."]
    elif doc.name in HELPERS:
        out += [".PP", f"The function is inline in \\fI<gda/{doc.header}.h>\\fP, for C, C++ and",
                "CUDA device code; it is no symbol of the library."]
    out += structures(doc, types, seen)
    if doc.returns:
        out += [".SH RETURN VALUE"] + returns(doc)
    out += example(doc.name)
    return "\n".join(out + see_also(doc, names)) + "\n"


def load_flags(headers):
    """Flags that a DOC: block lists, and those of posts, which are defines of their own."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in headers)
    for pattern, title in (("GDA_ACCESS_*", "Rights of an MR"), ("GDA_CQ_*", "CQ flags"),
                           ("GDA_QP_*", "QP flags"), ("GDA_FEATURE_*", "Features")):
        block = re.search(rf"DOC: {title}\n(.*?)\*/", text, re.S).group(1)
        block = re.sub(r"(?m)^ \* ?", "", block)
        flags[pattern] = [(name, " ".join(why.split())) for name, why in
                          re.findall(r"^%(\w+)\n((?:\t.*\n)+)", block, re.M)]
    posts = re.search(r"#define GDA_POST_FLAGS\s+\(([^)]*)\)", text).group(1)
    flags["GDA_*"] = [(name, defined(text, name)) for name in re.findall(r"\w+", posts)]
    flags["%GDA_CUDA_SQ_GPU"] = [(name, defined(text, name)) for name in
                                 re.findall(r"#define (GDA_CUDA_(?!MR_)\w+)\s+\(1U ", text)]
    for prefix, names in (("GDA_GIN_FENCE_", r"GDA_GIN_FENCE_\w+"), ("GDA_WINDOW_", r"GDA_WINDOW_\w+"),
                          ("GDA_GIN_NEED_", r"GDA_GIN_NEED_\w+"),
                          ("GDA_GIN_", r"GDA_GIN_(?:SIGNAL|VA|ADD|WEAK|COUNTER|SKIP_CREDIT)")):
        flags[prefix + "*"] = [(name, defined(text, name)) for name in
                               re.findall(rf"#define ({names})\s+\(1U ", text)]
    documented.update((name, defined(text, name)) for name in
                      re.findall(r"/\*\*\n \* define (GDA_\w+) - (?:(?!\*/).)*?\*/\n#define \1\s+\(1U ",
                                 text, re.S))
    flags["GDA_CUDA_*"] = [(name, defined(text, name)) for name in
                           re.findall(r"#define (GDA_CUDA_\w+)\s+\(1ULL", text)]


def defined(text, name):
    m = re.search(rf"/\*\*\n \* define {name} - (.*?)\*/", text, re.S)
    title, _, body = REQUIREMENT.sub("", re.sub(r"(?m)^ \* ?", "", m.group(1))).partition("\n\n")
    return ". ".join(sentence(" ".join(x.split())).rstrip(".") for x in (title, body) if x.strip())


def date_of(path):
    try:
        out = subprocess.run(["git", "log", "-1", "--format=%cs", "--", path], cwd=TOP,
                             capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        out = ""
    return out or "1970\\-01\\-01"


def ioctls(docs):
    """A section for each structure that an ioctl takes."""
    out, seen = [], set()
    for doc in docs:
        m = re.match(r"(.*) \((GDA_IOC_\w+)\)$", doc.purpose)
        if doc.kind != "struct" or not m:
            continue
        out += [f".SS {m.group(2)}", markup(sentence(m.group(1)) + f" Takes struct {doc.name}."),
                ".PP", ".in +4n", ".EX"]
        out += [escape(x) for x in doc.definition().expandtabs(4).splitlines()]
        out += [".EE", ".in"]
        for member, text in doc.params:
            out += [".TP", f".I {member}", described(text, seen)] + flag_list(text, seen)
        if doc.body:
            out += [".PP"] + paragraphs(doc.body)
    return out


def errors(text):
    """The table of errnos at the head of the header."""
    table = re.search(r"^ \* =+  =+\n(.*?)^ \* =+  =+\n", text, re.M | re.S).group(1)
    out = []
    for name, why in re.findall(r"^ \* (E\w+) +(.*(?:\n \*  +.*)*)", table, re.M):
        out += [".TP", f".B {name}", markup(sentence(re.sub(r"\n \* +", " ", why)))]
    return out


def fill(path, target, words):
    out = []
    for line in path.read_text(encoding="utf-8").splitlines():
        m = re.fullmatch(r"@([A-Z]+)@", line)
        if m:
            out += words[m.group(1)]
            continue
        for word in ("DATE", "VERSION"):
            line = line.replace(f"@{word}@", words[word])
        out.append(line)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(out) + "\n", encoding="utf-8")


def main():
    man = Path(sys.argv[1])
    target = man / "man3"
    target.mkdir(parents=True, exist_ok=True)
    version = ".".join(re.findall(r"^#define GDA_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)",
                                  (TOP / "lib/include/gda/version.h").read_text("utf-8"), re.M))
    types = {}
    load_flags(sorted((TOP / "lib/include/gda").rglob("*.h")) +
               sorted((TOP / "uapi/gda").glob("*.h")))
    errno_text.update(re.findall(r'\{ (E\w+), "(.*?)" \}',
                                 (TOP / "lib/core/error.c").read_text(encoding="utf-8")))
    shmem_errors.extend(([name], why) for name, why in re.findall(
        r"^ \*\t(-E\w+)\t+(.*)$", (TOP / "lib/include/gda/shmem.h").read_text("utf-8"), re.M))
    # Parts of a header are in a folder of its name, but for gpu/, which is CUDA's.
    headers = [(path, path.stem) for path in sorted((TOP / "lib/include/gda").glob("*.h"))]
    headers += [(path, path.parent.name) for path in
                sorted((TOP / "lib/include/gda").glob("*/*.h")) if path.parent.name != "gpu"]
    for path, header in headers:
        for doc in load(path, header):
            if doc.kind == "struct":
                types[doc.name] = doc
            elif doc.kind == "enum":
                enums[doc.name] = doc
            elif doc.name in HELPERS:
                doc.header = HELPERS[doc.name]
                functions[doc.name] = doc
            elif doc.kind is None and not re.match(r"static|typedef|#define|GDA_(HELPER|SLOW)",
                                                   doc.code):
                functions[doc.name] = doc
    for path in sorted((TOP / "uapi/gda").glob("*.h")):
        types.update({d.name: d for d in load(path, path.stem) if d.kind == "struct"})
        enums.update({d.name: d for d in load(path, path.stem) if d.kind == "enum"})
    for old in target.glob("*.3"):
        old.unlink()
    (target / "gda.3").write_text(".so man7/gda.7\n", encoding="utf-8")
    (man / "man1").mkdir(exist_ok=True)
    (man / "man1" / "oshc++.1").write_text(".so man1/oshcc.1\n", encoding="utf-8")
    for doc in functions.values():
        text = page(doc, types, functions, version, date_of(f"lib/include/gda/{doc.header}.h"))
        (target / f"{doc.name}.3").write_text(text, encoding="utf-8")

    uapi = TOP / "uapi/gda/ioctl.h"
    words = {
        "VERSION": version,
        "IOCTLS": ioctls(load(uapi, "ioctl")),
        "ERRORS": errors(uapi.read_text(encoding="utf-8")),
        "FUNCTIONS": [f".BR {n} (3)," for n in sorted(functions)],
    }
    for name in sorted(x.name for x in (TOP / "Documentation/man").glob("*.[1-8]")):
        path = f"Documentation/man/{name}"
        words["DATE"] = max(date_of(path), date_of("uapi/gda/ioctl.h"))
        fill(TOP / path, man / f"man{name[-1]}" / name, words)


if __name__ == "__main__":
    os.umask(0o022)
    main()
