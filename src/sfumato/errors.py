"""Every error that a user can meet; the tree is drawn in `sfumato.core.errors`.

>>> from sfumato.errors import BudgetExceeded, SfumatoError
>>> issubclass(BudgetExceeded, SfumatoError)
True
"""

from sfumato.core.errors import *  # noqa: F403
