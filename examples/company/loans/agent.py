"""Calculates the monthly rate of a loan: an A2A agent on the official SDK for Python.

LOANS_URL is its address for callers. It listens on LOANS_HOST and the port of that address, and sends traces to
OTLP_ENDPOINT.
"""

import asyncio
import os
import re
from urllib.parse import urlparse

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    TaskState,
)
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.starlette import StarletteInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.applications import Starlette

# Larger loans need a credit check, which takes a while.
LARGE_LOAN = 100_000
CREDIT_CHECK_SECONDS = 4


def numbers(task, message):
    """The amount and the months, as far as the customer has answered."""
    messages = {sent.message_id: sent for sent in [*task.history, message]}
    texts = [part.text.strip() for sent in messages.values() for part in sent.parts]
    return [int(text) for text in texts if re.fullmatch(r'\d+', text)]


class Loans(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        def says(text):
            return updater.new_agent_message([Part(text=text)])

        amount, months, *_ = [*numbers(task, context.message), None, None]
        if amount is None:
            question = 'How much do you want to borrow, in euros?'
        elif months is None:
            question = 'Over how many months?'
        else:
            await updater.update_status(TaskState.TASK_STATE_WORKING)
            if amount >= LARGE_LOAN:
                print('credit check', task.id, flush=True)
                await asyncio.sleep(CREDIT_CHECK_SECONDS)
            rate = amount * (1 + 0.05 * months / 24) / months
            answer = f'{amount} euros over {months} months cost {rate:.2f} euros a month.'
            await updater.complete(says(answer))
            return
        await updater.requires_input(says(question))

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()
        print('canceled', context.task_id, flush=True)


def main():
    url = os.environ['LOANS_URL']
    provider = TracerProvider(resource=Resource.create({'service.name': 'loans'}))
    exporter = OTLPSpanExporter(endpoint=f'{os.environ["OTLP_ENDPOINT"]}/v1/traces')
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=500))
    trace.set_tracer_provider(provider)
    card = AgentCard(
        name='loans',
        description='Calculates the monthly rate of a loan.',
        version='1.0.0',
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id='rate', name='Rate', description='The monthly rate.', tags=['loan'])],
        supported_interfaces=[
            AgentInterface(protocol_binding='JSONRPC', url=url, protocol_version='1.0')
        ],
    )
    handler = DefaultRequestHandler(
        agent_executor=Loans(), agent_card=card, task_store=InMemoryTaskStore()
    )
    routes = [
        *create_agent_card_routes(agent_card=card, card_url='/.well-known/agent-card.json'),
        *create_jsonrpc_routes(request_handler=handler, rpc_url='/'),
    ]
    app = Starlette(routes=routes)
    StarletteInstrumentor.instrument_app(app)
    host = os.environ.get('LOANS_HOST', '127.0.0.1')
    uvicorn.run(app, host=host, port=urlparse(url).port or 80, log_level='warning')


main()
