"""A Sphinx extension: each lecture becomes a deck of slides, filled with what its chapters hold.

Sphinx reads and numbers the executed chapters as it does for the book. Then a deck takes its slides out of the
chapters' resolved trees, so that "Theorem 5.1" on a slide is the book's Theorem 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx_revealjs.builders import RevealjsHTMLBuilder

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)


class DeckBuilder(RevealjsHTMLBuilder):
    """sphinx-revealjs that writes decks alone: chapters are read, not written."""

    def write(self, build_docnames: Any, updated_docnames: Any, method: str = "update") -> None:
        """Write the decks and the page that lists them."""
        pages = [*self.config.insdel_decks, self.config.root_doc]
        super().write(pages, pages, "specific")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the builder, the table of decks, and what fills them."""
    app.setup_extension("sphinx_revealjs")
    app.add_builder(DeckBuilder, override=True)
    # page: {"chapters": {page: remark}, "slides": [[kind, label, minutes, note], …]}
    app.add_config_value("insdel_decks", {}, "env")
    app.set_html_assets_policy("always")  # formulas arrive after Sphinx has looked for them
    app.connect("doctree-resolved", fill)
    # no deck points to chapters as its neighbours: they are not written
    app.connect("html-page-context", lambda app, page, template, context, tree: context.update(prev=None, next=None))
    return {"parallel_read_safe": False, "parallel_write_safe": False}


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the slides of a lecture into its page, which holds nothing but a title so far."""
    if (deck := app.config.insdel_decks.get(docname)) is None:
        return
    chapters = {name: app.env.get_and_resolve_doctree(name, app.builder) for name in deck["chapters"]}
    numbers = app.env.toc_fignumbers[docname] = {}  # kind → id → number, of all chapters
    for name in chapters:
        for kind, known in app.env.toc_fignumbers.get(name, {}).items():
            numbers[kind] = numbers.get(kind, {}) | known
    top = next(doctree.findall(nodes.section))
    top += nodes.paragraph("", app.config.html_title, classes=["book"])
    for name, remark in deck["chapters"].items():
        title = chapter_title(app.env, name)
        top += nodes.paragraph("", f"Chapter {title if len(chapters) > 1 else title.split()[0]}", classes=["chapter"])
        top += nodes.paragraph("", remark, classes=["remark"])
    if total := sum(minutes for _, _, minutes, _ in deck["slides"]):
        top += nodes.paragraph("", f"{total} minutes; the key S opens the notes", classes=["remark"])
    for kind, label, minutes, note in deck["slides"]:
        hits = ((name, labelled(tree, label)) for name, tree in chapters.items())
        name, node = next((name, node) for name, node in hits if node is not None)
        parts = list(PARTS[kind](node)) if kind in PARTS else [node]  # figures, statements and exercises as they are
        if not parts:
            logger.error("%s: there is no %s at %r", docname, kind, label)
            raise ExtensionError("a slide would be empty")
        one = slide(f"{kind}-{label}", kind, parts, chapter_title(app.env, name))
        if words := " ".join(filter(None, [f"{minutes} min." if minutes else "", note])):
            one += nodes.raw("", f'<aside class="notes">{escape(words)}</aside>', format="html")
        top += one


def chapter_title(env: BuildEnvironment, docname: str) -> str:
    """Number and title of a chapter."""
    number = ".".join(map(str, env.toc_secnumbers.get(docname, {}).get("", ())))
    return f"{number} {env.titles[docname].astext()}".strip()


def labelled(tree: nodes.Node, label: str) -> nodes.Element | None:
    """The node of a tree that has this label."""
    elements = (node for node in tree.findall(nodes.Element) if not isinstance(node, nodes.target))
    return next((node for node in elements if label in node["ids"] + node["names"]), None)


def slide(name: str, kind: str, parts: list[nodes.Element], source: str) -> nodes.section:
    """A section that becomes a slide: the title of the section that the parts stand in, copies of them, their chapter.

    Links lead out of the deck, so their text alone is left; and inside a slide no section begins another slide.
    """
    section: Any = parts[0]
    while not isinstance(section, nodes.section):
        section = section.parent
    title = section.children[0].deepcopy()
    box = nodes.container("", *(part.deepcopy() for part in parts), classes=["slide", kind])
    for shell in [*title.findall(nodes.reference), *box.findall(nodes.reference), *box.findall(nodes.section)]:
        shell.replace_self(shell.children)
    return nodes.section("", title, box, nodes.paragraph("", source, classes=["source"]), ids=[name])


def box_above(node: nodes.Element, is_wanted: Callable[[nodes.Element], bool]) -> list[nodes.Element]:
    """The last wanted box above a node in its chapter; none if there is none."""
    before = takewhile(lambda other: other is not node, node.document.findall(nodes.Element))
    return [other for other in before if is_wanted(other)][-1:]


def has_title(node: nodes.Element, text: str) -> bool:
    """Whether a node is a box or a section with this title."""
    return isinstance(node, nodes.admonition | nodes.section) and node.children[0].astext() == text


is_question = partial(has_title, text="Predict first")


def passage(node: nodes.Element) -> list[nodes.Element]:
    """The text of a section up to its first code or subsection, without questions and words that announce the code."""
    text: list[nodes.Element] = []
    for child in node.children[1:]:
        if isinstance(child, nodes.section) or "cell" in child["classes"]:
            break
        text += [] if is_question(child) else [child]
    return text[:-1] if text and text[-1].astext().endswith(":") else text


def summary(node: nodes.Element) -> list[nodes.Element]:
    """The text of a chapter's summary."""
    last = [part for part in node.findall(nodes.section) if has_title(part, "Summary")]
    return [child for part in last for child in part.children[1:] if "cell" not in child["classes"]]


PARTS: dict[str, Callable[[nodes.Element], Iterable[nodes.Element]]] = {
    "aims": lambda node: (box for box in node.findall(nodes.admonition) if has_title(box, "In this chapter")),
    "notice": lambda node: box_above(node, lambda box: isinstance(box, nodes.important)),
    "passage": passage,
    "question": lambda node: box_above(node, is_question),
    "summary": summary,
    "table": lambda node: list(node.findall(
        lambda part: isinstance(part, nodes.table) or (isinstance(part, nodes.raw) and "<table" in part.astext())))[:1],
}
