"""A client and a server of a2a-sdk 0.3, for interop tests.

client URL TRANSPORT     calls the agent and prints what came of it as JSON
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

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.grpc import a2a_pb2_grpc
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    FilePart,
    FileWithBytes,
    Message,
    Part,
    Role,
    Task,
    TaskIdParams,
    TaskState,
    TaskStatus,
    TextPart,
)
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route


def message(part):
    return Message(role=Role.user, message_id=str(uuid.uuid4()), parts=[Part(root=part)])


async def error_of(call):
    try:
        await call
    except Exception as error:  # noqa: BLE001
        return f'{type(error).__name__}: {error}'
    return None


async def client(url, transport):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()

        def connect(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                grpc_channel_factory=grpc.aio.insecure_channel,
                supported_transports=[transport],
                use_client_preference=True,
            )
            return ClientFactory(config).create(card)

        plain, streaming = connect(False), connect(True)

        async def answer(using, part):
            return [event async for event in using.send_message(message(part))]

        async def subscribe(task_id):
            async for _ in streaming.resubscribe(TaskIdParams(id=task_id)):
                pass

        task = (await answer(plain, TextPart(text='hello')))[-1][0]
        events = await answer(streaming, TextPart(text='hello'))
        content = base64.b64encode(base64.b64encode(b'a file')).decode()
        file = FilePart(file=FileWithBytes(bytes=content, mime_type='text/plain', name='a.txt'))
        echoed = (await answer(plain, file))[-1][0]
        held = None
        async for event in streaming.send_message(message(TextPart(text='hold'))):
            held = event[0].id
            break
        canceled = await plain.cancel_task(TaskIdParams(id=held))
        return {
            'state': task.status.state.value,
            'text': task.artifacts[0].parts[0].root.text,
            'events': [type(update).__name__ for _, update in events],
            'file': base64.b64decode(echoed.artifacts[0].parts[0].root.file.bytes).decode(),
            'canceled': canceled.status.state.value,
            'again': await error_of(plain.cancel_task(TaskIdParams(id=held))),
            'unknown': await error_of(subscribe('no-such-task')),
        }


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        task = Task(
            id=context.task_id,
            context_id=context.context_id,
            status=TaskStatus(state=TaskState.submitted),
            history=[context.message],
        )
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(TaskState.working)
        await updater.add_artifact(list(context.message.parts))
        await updater.complete()

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.update_status(TaskState.canceled)


async def server(http_port, grpc_port):
    url = f'http://127.0.0.1:{http_port}'
    card = AgentCard(
        name='Python 0.3',
        description='Returns what it gets.',
        url=f'{url}/rpc/',
        preferred_transport='JSONRPC',
        protocol_version='0.3.0',
        version='1.0.0',
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id='echo', name='Echo', description='Returns it.', tags=['echo'])],
        additional_interfaces=[
            AgentInterface(transport='HTTP+JSON', url=f'{url}/rest'),
            AgentInterface(transport='GRPC', url=f'127.0.0.1:{grpc_port}'),
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Echo(), task_store=InMemoryTaskStore())

    async def show(_):
        return JSONResponse(card.model_dump(mode='json', by_alias=True, exclude_none=True))

    app = Starlette(
        routes=[
            Route('/.well-known/agent-card.json', show),
            Mount('/rpc', app=A2AStarletteApplication(card, handler).build()),
            Mount('/rest', app=A2ARESTFastAPIApplication(card, handler).build()),
        ]
    )
    grpc_server = grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), grpc_server)
    grpc_server.add_insecure_port(f'127.0.0.1:{grpc_port}')
    await grpc_server.start()
    config = uvicorn.Config(app, host='127.0.0.1', port=http_port, log_level='warning')
    await uvicorn.Server(config).serve()


if sys.argv[1] == 'client':
    print(json.dumps(asyncio.run(client(*sys.argv[2:4]))))
else:
    asyncio.run(server(int(sys.argv[2]), int(sys.argv[3])))
