"""Runs chains of the agent `current` and others, in a checkout of a2a-itk.

python itk-run.py python_v10 [jsonrpc,http_json,grpc]

Each agent is first in turn, for every binding: send, streaming send, push notification, and
resubscribe with cancel.
"""

import asyncio
import os
import sys

sys.path.insert(0, os.getcwd())

from testlib import execute_itk_test, start_itk_cluster, stop_itk_cluster  # noqa: E402

BEHAVIORS = [
    ('send_message', False),
    ('send_message', True),
    ('push_notification', False),
    ('resubscribe', True),
]


async def main(others, bindings):
    agents = ['current', *others]
    processes, _, ports = await start_itk_cluster(agents)
    results = []
    try:
        for binding in bindings:
            for behavior, streaming in BEHAVIORS:
                for first in agents:
                    name = f'{binding} {behavior}{" streaming" if streaming else ""}, {first} first'
                    try:
                        outcome = await execute_itk_test(
                            sdks=[first, *(one for one in agents if one != first)],
                            behavior=behavior,
                            protocols=[binding],
                            streaming=streaming,
                            scenario_name=name,
                        )
                        passed = all(each['passed'] for each in outcome.values())
                    except Exception as error:  # noqa: BLE001
                        print(f'{name}: {error}')
                        passed = False
                    results.append(passed)
                    print(f'{name}: {"passed" if passed else "failed"}', flush=True)
    finally:
        stop_itk_cluster(processes, ports)
    print(f'{sum(results)} of {len(results)}')


BINDINGS = sys.argv[2] if len(sys.argv) > 2 else 'jsonrpc,http_json,grpc'
asyncio.run(main(sys.argv[1].split(','), BINDINGS.split(',')))
