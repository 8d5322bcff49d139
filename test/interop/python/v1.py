"""A client and a server of a2a-sdk 1.x, for interop tests.

client URL BINDING       calls the agent and prints what came of it as JSON
server HTTP_PORT GRPC_PORT   serves an agent that returns what it gets
"""

import asyncio
import base64
import json
import sys
import uuid

import grpc
import httpx
import uvicorn

from a2a.client import ClientConfig, create_client
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2_grpc
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    CancelTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette
from starlette.routing import Mount


def message(part):
    return SendMessageRequest(
        message=Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[part])
    )


async def error_of(call):
    try:
        await call
    except Exception as error:  # noqa: BLE001
        return type(error).__name__
    return None


async def client(url, binding):
    async with httpx.AsyncClient(timeout=30) as http:

        async def connect(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_protocol_bindings=[binding],
            )
            return await create_client(url, client_config=config)

        plain, streaming = await connect(False), await connect(True)

        async def answer(using, part):
            return [event async for event in using.send_message(message(part))]

        async def subscribe(task_id):
            async for _ in streaming.subscribe(SubscribeToTaskRequest(id=task_id)):
                pass

        task = (await answer(plain, Part(text='hello')))[-1].task
        events = await answer(streaming, Part(text='hello'))
        content = base64.b64encode(b'a file')
        file = Part(raw=content, media_type='text/plain', filename='a.txt')
        echoed = (await answer(plain, file))[-1].task
        held = None
        async for event in streaming.send_message(message(Part(text='hold'))):
            held = event.task.id or event.status_update.task_id
            break
        canceled = await plain.cancel_task(CancelTaskRequest(id=held))
        return {
            'state': TaskState.Name(task.status.state),
            'text': task.artifacts[0].parts[0].text,
            'events': [event.WhichOneof('payload') for event in events],
            'file': echoed.artifacts[0].parts[0].raw.decode(),
            'canceled': TaskState.Name(canceled.status.state),
            'unknown': await error_of(subscribe('no-such-task')),
        }


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = Task(
            id=context.task_id,
            context_id=context.context_id,
            status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
            history=[context.message],
        )
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(TaskState.TASK_STATE_WORKING)
        await updater.add_artifact(list(context.message.parts))
        await updater.update_status(TaskState.TASK_STATE_COMPLETED)

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(TaskState.TASK_STATE_CANCELED)


async def server(http_port, grpc_port):
    url = f'http://127.0.0.1:{http_port}'
    addresses = {
        'JSONRPC': f'{url}/rpc/',
        'HTTP+JSON': f'{url}/rest',
        'GRPC': f'127.0.0.1:{grpc_port}',
    }
    card = AgentCard(
        name='Python 1.x',
        description='Returns what it gets.',
        version='1.0.0',
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id='echo', name='Echo', description='Returns it.', tags=['echo'])],
        supported_interfaces=[
            AgentInterface(protocol_binding=binding, url=address, protocol_version='1.0')
            for binding, address in addresses.items()
        ],
    )
    handler = DefaultRequestHandler(
        agent_executor=Echo(), agent_card=card, task_store=InMemoryTaskStore()
    )
    app = Starlette(
        routes=[
            *create_agent_card_routes(
                agent_card=card, card_url='/.well-known/agent-card.json'
            ),
            Mount('/rpc', routes=create_jsonrpc_routes(request_handler=handler, rpc_url='/')),
            Mount('/rest', routes=create_rest_routes(request_handler=handler)),
        ]
    )
    grpc_server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    grpc_server.add_insecure_port(f'127.0.0.1:{grpc_port}')
    await grpc_server.start()
    config = uvicorn.Config(app, host='127.0.0.1', port=http_port, log_level='warning')
    await uvicorn.Server(config).serve()


if sys.argv[1] == 'client':
    print(json.dumps(asyncio.run(client(*sys.argv[2:4]))))
else:
    asyncio.run(server(int(sys.argv[2]), int(sys.argv[3])))
