"""Counts the tests of a2a-tck over several runs: one that passes with one card has passed.

python tck-union.py full.xml no-push.xml minimal.xml required-extension.xml
"""

import sys
from collections import Counter
from xml.etree import ElementTree

seen = {}
for path in sys.argv[1:]:
    for case in ElementTree.parse(path).iter('testcase'):
        kinds = {child.tag for child in case}
        failed = not kinds.isdisjoint({'failure', 'error'})
        outcome = 'failed' if failed else 'skipped' if 'skipped' in kinds else 'passed'
        seen.setdefault(f'{case.get("classname")}::{case.get("name")}', set()).add(outcome)

results = {
    name: next(one for one in ('passed', 'failed', 'skipped') if one in outcomes)
    for name, outcomes in seen.items()
}
for name, outcome in results.items():
    if outcome != 'passed':
        print(outcome, name)
print(dict(Counter(results.values())))
