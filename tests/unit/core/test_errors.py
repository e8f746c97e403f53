"""The tree of errors: one root, one code each, and the drawing that explains it."""

import inspect
import pickle
import re

import pytest

import sfumato as sf
from sfumato.core import errors
from sfumato.core.errors import SfumatoError

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, SfumatoError)
]


@pytest.mark.parametrize("kind", CLASSES)
def test_error_shows_message_and_code(kind):
    problem = kind("this was refused.")
    assert str(problem) == f"this was refused. [{kind.code}]"
    assert problem.message == "this was refused."


@pytest.mark.parametrize("kind", CLASSES)
def test_error_survives_pickling(kind):
    copy = pickle.loads(pickle.dumps(kind("this was refused.")))  # noqa: S301 (our own bytes)
    assert type(copy) is kind
    assert str(copy) == f"this was refused. [{kind.code}]"


def test_refusal_to_spend_keeps_its_objects():
    problem = errors.BudgetExceeded("too much.", asked=2, left=1, limit=4)
    copy = pickle.loads(pickle.dumps(problem))  # noqa: S301 (our own bytes)
    assert (copy.asked, copy.left, copy.limit) == (2, 1, 4)


@pytest.mark.parametrize("kind", CLASSES)
def test_error_code_belongs_to_its_family(kind):
    (family,) = [base for base in kind.__mro__[1:] if base in CLASSES][:1] or [SfumatoError]
    if family is SfumatoError:
        assert re.fullmatch(r"E\d00", kind.code)
    else:
        assert kind.code[:2] == family.code[:2]
        assert kind.code != family.code


def test_drawing_of_the_tree_is_complete():
    drawn = re.findall(r"[├└]── (\w+) +(E\d(?:\d\d|xx)) ", errors.__doc__)
    assert dict(drawn) == {
        kind.__name__: kind.code.replace("00", "xx") for kind in CLASSES if kind is not SfumatoError
    }


def test_refusals_are_also_what_python_would_raise():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.SchemaError, ValueError)
    assert issubclass(errors.LossError, TypeError)
    assert issubclass(errors.NeighborsError, ValueError)
    assert issubclass(errors.CodecError, ValueError)
    assert issubclass(errors.UnknownName, KeyError)
    assert not issubclass(errors.BudgetExceeded, ValueError)


def test_an_error_that_is_sought_in_the_package_is_found_by_its_hint():
    with pytest.raises(AttributeError, match=r"it is sfumato\.errors\.SfumatoError"):
        sf.SfumatoError  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        sf.nothing  # noqa: B018


def test_the_interface_has_every_error_and_nothing_else():
    public = {name: kind for name, kind in vars(sf.errors).items() if not name.startswith("_")}
    assert public == {kind.__name__: kind for kind in CLASSES}
    assert sorted(sf.errors.__all__) == sorted(public)
