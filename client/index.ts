/**
 * The SDK: reads chats from a relay, in browsers, Node.js, Deno and Bun. It needs only `fetch`, and importing
 * it has no side effects. docs/sdk.md documents its guarantees.
 */
export { GROUPS } from "../src/protocol/kinds.ts";
export type { ErrorCode } from "./chat-error.ts";
export { ChatError } from "./chat-error.ts";
export { chat, merged } from "./chats.ts";
export { probe } from "./probe-video.ts";
export { poll } from "./self-polling.ts";
export { history } from "./stored-messages.ts";
export type {
  AmountDetails,
  BareMessageOf,
  ChannelChat,
  ChannelEvents,
  ChannelOptions,
  ChannelState,
  Chat,
  ChatEvents,
  ChatOptions,
  DeadChat,
  Details,
  EightFields,
  End,
  EventDetails,
  Featured,
  Gap,
  HistoryOptions,
  Init,
  InitOfSeveral,
  ItemDetails,
  MergedChats,
  MergedEvents,
  MergedOptions,
  Message,
  MessageOf,
  MessageType,
  OfVideo,
  PaidDetails,
  Part,
  PollOptions,
  ProbeOptions,
  ProbeResult,
  ProbeRow,
  Standing,
  State,
} from "./types.ts";
