"""The canonical text: every kind of release writes and refuses in the same way."""

import pytest

import sfumato as sf
from sfumato.core.errors import CodecError
from sfumato.release.release import Release
from sfumato.release.text import CanonicalText

RANGES = sf.ranges.release(sf.lab([5, 9, 0, 200]), epsilon=1)


def test_text_reads_back_what_it_wrote():
    assert sf.ranges.RangeRelease.from_json(RANGES.to_json()) == RANGES
    assert sf.ranges.RangeRelease.from_json(RANGES.to_json().encode()) == RANGES
    assert Release.from_json(RANGES.table().to_json()) == RANGES.table()


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        (Release, "a Release"),
        (sf.marginals.Marginals, "a release of marginals"),
        (sf.ranges.SketchRelease, "a sketch"),
    ],
)
def test_text_of_another_kind_is_refused_by_name(kind, called):
    assert issubclass(kind, CanonicalText)
    with pytest.raises(CodecError, match=rf"this is a RangeRelease, not {called}\."):
        kind.from_json(RANGES.to_json())


def test_text_that_was_edited_is_refused():
    with pytest.raises(CodecError, match="ASCII"):
        Release.from_json(RANGES.table().to_json().replace("n", "ñ"))
    with pytest.raises(CodecError):
        Release.from_json(RANGES.table().to_json()[:-1])
