"""Mutation rounds: change the source in one small place, and see whether a test notices.

`change` says what is changed, `mutant` where, `calls` which tests run a function, `trial` runs them
on a copy of the sources, `page` tells what came of it. Run ``python -m tools.mutation --help``.
"""
