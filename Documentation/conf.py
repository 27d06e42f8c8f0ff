# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Sphinx. The extension that turns kernel-doc comments into text is the kernel's own,
# unpacked from its source; it calls kernel-doc through our wrapper.

import logging
import os
import subprocess
import sys

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tools = os.path.join(top, "tools", "lint")
sys.path.insert(0, subprocess.run([os.path.join(tools, "linux-source.sh")], check=True,
                                  capture_output=True, text=True).stdout.strip())

project = "GDA"
copyright = "the GDA authors"
master_doc = "index"
sys.path.insert(0, os.path.join(top, "Documentation"))
extensions = ["kerneldoc", "sphinx.ext.graphviz", "manpages"]
exclude_patterns = ["man"]

kerneldoc_bin = os.path.join(tools, "kernel-doc.sh")
kerneldoc_srctree = top
kerneldoc_verbosity = 1

primary_domain = "c"
highlight_language = "none"
# Words of the headers that the C domain would take for types.
c_id_attributes = ["GDA_API", "GDA_HOST_API", "GDA_SIZED_API", "GDA_UAPI_INLINE", "__user"]

# The theme of the kernel's documentation.
html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 2}
html_static_path = ["static"]
html_css_files = ["gda.css"]
graphviz_output_format = "svg"
# An option's two dashes are no dash.
smartquotes = False
html_show_sourcelink = False
html_copy_source = False


class SameName(logging.Filter):
    """struct gda_error and gda_error() are two things in C, but not in Sphinx."""

    names = ("gda_error", "gda_gin_error", "gda_at", "gda_dpa_cuda_event")

    def filter(self, record):
        text = record.getMessage()
        return not (text.startswith("Duplicate C declaration") and
                    any(f" {name} " in text for name in self.names))


logging.getLogger("sphinx.sphinx.domains.c").addFilter(SameName())
