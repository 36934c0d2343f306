"""Configure Sphinx for the HTML documents. tools/docs stages the sources (tools/site_stage.py) and builds them."""

import importlib.metadata

project = "Stocktake"
copyright = "Stocktake developers"  # noqa: A001 - Sphinx's name
version = release = importlib.metadata.version("stocktake")

extensions = ["myst_parser", "openstackdocstheme", "oslo_config.sphinxext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
nitpicky = True
# Only Sphinx's own domain: oslo.config's raises KeyError for a link that it does not know.
myst_ref_domains = ["std"]

# Links to headings are checked down to this level; the names are those that GitHub gives.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# "--yes" must stay two hyphens, so that a reader can copy the option.
smartquotes = False

# Console blocks mix prompts, output and comments, which no highlighter reads without an error.
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "openstackdocs"
html_theme_options = {"analytics_tracking_code": "", "display_badge": False}
# The theme's own header, footer and licence are those of OpenStack's website; _templates has Stocktake's.
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["stocktake.css"]
html_last_updated_fmt = None
html_show_sourcelink = False
# A browser does not let a page that it opened from a disk fetch other pages for such summaries.
html_show_search_summary = False
html_copy_source = False
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_use_storyboard = False


def setup(app):  # noqa: ANN001, ANN201 - Sphinx is not installed where mypy and ruff run
    """Show the flowchart of the architecture as text: a drawing needs JavaScript from another server."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("mermaid", TextLexer)
