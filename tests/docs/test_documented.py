"""What exists is documented: names, errors, commands, mechanisms; what is cited exists."""

import ast
import importlib
import inspect
import re

import click


def docstrings(folder):
    """Yield (where, docstring) for every module, class and function below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
                text := ast.get_docstring(node)
            ):
                yield f"{path.name}:{getattr(node, 'name', 'module')}", text


def commands(command, name):
    """Yield the full name of a command and of all below it: 'sfumato ledger show'."""
    yield name
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            yield from commands(command.get_command(context, child), f"{name} {child}")


def test_every_public_name_is_in_the_documentation(pages):
    code = "\n".join(page.code for page in pages)
    public = importlib.import_module("sfumato").__all__
    assert [name for name in public if not re.search(rf"\b{re.escape(name)}\b", code)] == []


def test_every_error_code_is_unique_and_has_an_anchor(docs):
    module = importlib.import_module("sfumato.core.errors")
    errors = [
        error
        for _, error in inspect.getmembers(module, inspect.isclass)
        if issubclass(error, module.SfumatoError)
    ]
    codes = [error.code for error in errors]
    assert len(set(codes)) == len(codes)
    anchors = {anchor.lower() for anchor in docs["errors.md"].anchors}
    assert [code for code in codes if code.lower() not in anchors] == []


def test_every_command_is_in_the_reference(docs):
    main = importlib.import_module("sfumato.cli").main
    page = docs["reference/cli.md"]
    assert [name for name in commands(main, "sfumato") if name not in page.code] == []


def test_every_mechanism_has_a_page(docs):
    mechanisms = importlib.import_module("sfumato.mechanisms")
    code = "\n".join(
        page.code for path, page in docs.items() if path.startswith("reference/mechanisms")
    )
    classes = [
        name
        for name in mechanisms.__all__
        if inspect.isclass(getattr(mechanisms, name))
        and getattr(mechanisms, name).__module__.startswith("sfumato.mechanisms.")
    ]
    assert [name for name in classes if not re.search(rf"\b{name}\b", code)] == []


def test_every_test_that_a_page_names_exists(root, docs):
    named = {
        (name, page)
        for page, held in docs.items()
        for name in re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)`", held.prose)
    }
    assert len(named) > 10
    assert [pair for pair in sorted(named) if not (root / "tests" / pair[0]).exists()] == []


def test_every_theorem_cites_a_work_or_a_page_that_exists(root):
    bibliography = (root / "docs" / "refs.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    wrong = []
    for package in ("mechanisms", "accounting"):
        for where, text in docstrings(root / "src" / "sfumato" / package):
            for theorem in re.findall(r"^Theorem:(.*(?:\n[ \t]+\S.*)*)", text, re.MULTILINE):
                cited = re.findall(r"\[(\w+)[,\]]", theorem)
                proofs = re.findall(r"docs/theory/[\w/-]+\.md", theorem)
                if (
                    not cited + proofs
                    or not keys.issuperset(cited)
                    or not all((root / proof).exists() for proof in proofs)
                ):
                    wrong.append(f"{where}: {theorem.strip()}")
    assert wrong == []
