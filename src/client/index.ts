/**
 * Calls to any A2A agent, over every binding and version. Runs in browsers.
 * @module
 */
export { connect, type ConnectOptions, fetchAgentCard } from './connect.ts';
export type { FetchedCard } from './card.ts';
export type { Answer, FinalAnswer, Question } from './ask.ts';
export { Client } from './client.ts';
export { type AnswerContent, AnswerStream, textOf, type TextChange } from '../protocol/index.ts';
export type { BindingCall, BindingChannel, BindingLimits, ClientBinding } from './binding.ts';
export type {
  BindingName,
  CallOptions,
  CancelOnAbortOptions,
  ClientOptions,
  PollOptions,
  RetryOptions,
  SendOptions,
  StreamOptions,
} from './options.ts';
export type { ApiKey, Auth, CredentialRequest, HeaderProvider } from './credentials.ts';
export { type OutgoingRequest, requestPreparer, type RequestPreparer } from './http.ts';
export { TaskView } from './task-view.ts';
export type { Sendable } from './peer.ts';
export type { CallOperation, StreamEvent, StreamOperation } from './transport.ts';
export { chooseInterface, type ChosenInterface } from './interface-choice.ts';
export type { AnswerLimits } from './remote/answer-size.ts';
export type { RemoteEvent } from './remote/remote-events.ts';
export { RemoteTask, type RemoteTaskOptions } from './remote/remote-task.ts';
export {
  questionIdOf,
  readResumePoint,
  readMarks,
  type ResumePoint,
} from './remote/resume-point.ts';
export { clientTransport, type RemoteFrame, type TaskTransport } from './remote/task-transport.ts';
