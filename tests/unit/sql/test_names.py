"""Names in SQL: of columns that nobody named, of groups, and of what a star stands for."""

import pytest

from sfumato.core.errors import SfumatoError
from sfumato.testing.town import town

OPEN = [
    "SELECT COUNT(*) FROM (SELECT * FROM trips JOIN stops USING (zone))",
    "SELECT zone, COUNT(*) FROM (SELECT t.* FROM trips AS t) AS u GROUP BY zone",
    "SELECT AVG(n) FROM (SELECT zone AS z, rider, COUNT(*) AS n FROM trips GROUP BY z, rider)",
    "SELECT AVG(n) FROM (SELECT rider, COUNT(*) AS n FROM trips GROUP BY rider HAVING n > 5)",
]
WRONG = [
    # a column that nobody named is not called as its argument
    "SELECT SUM(fare) FROM (SELECT floor(fare) FROM trips)",
    "SELECT SUM(tip) FROM (SELECT rider, MAX(tip) FROM trips GROUP BY rider)",
    "SELECT zone, COUNT(*) FROM (SELECT * EXCLUDE (zone) FROM trips) GROUP BY zone",
    "SELECT COUNT(*) FROM trips GROUP BY 'zone'",
]
KEYS = {
    "SELECT floor(hour / 6), COUNT(*) FROM trips GROUP BY floor(hour / 6)": "floor(hour / 6)",
    "SELECT t.zone AS other, COUNT(*) FROM trips AS t GROUP BY t.zone": "other",
    "SELECT p.zone AS other, COUNT(*) FROM trips AS t JOIN payments AS p ON t.rider = p.rider "
    "GROUP BY p.zone": "other",
}


@pytest.fixture(scope="module")
def session():
    with town(max_rows=10) as made:
        yield made


@pytest.mark.parametrize("text", OPEN)
def test_question_is_planned(session, text):
    session.explain(text, epsilon=1)


@pytest.mark.parametrize("text", WRONG)
def test_question_about_a_column_that_is_not_there_is_refused(session, text):
    with pytest.raises(SfumatoError):
        session.explain(text, epsilon=1, delta="1e-6")


@pytest.mark.parametrize("text", KEYS)
def test_key_is_called_as_it_is_written(session, text):
    (found,) = session.explain(text, epsilon=1).asked.sets[0]
    assert found == KEYS[text]
