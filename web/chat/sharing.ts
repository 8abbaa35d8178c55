/**
 * Whether this page takes its chats from the stream that all pages of the service share in this browser, or
 * opens streams of its own. A page that is alone has its own, and costs nothing more: it only listens for
 * others. Once there are two, both change over; their chats resume where they were.
 */
import type { SharedStream } from "./shared-stream.ts";

/** A chat that can change over. */
export interface Sharable {
  /** Whether it has ended, and is only forgotten. */
  readonly isOver: boolean;
  /** Closes its own stream, until it changes over. */
  suspend(): void;
  changeOver(stream: SharedStream | undefined): void;
}

/** A connection that takes longer may be queued by the browser, which limits connections per host. */
export const SLOW_MS = 3000;
export const SLOW_WORDS =
  "Still connecting. A browser opens at most six streams to one host: if other tabs show chats from here, close one of them.";

const sharables = new Set<Sharable>();
let channel: BroadcastChannel | undefined;
let stream: SharedStream | undefined;
let isAsked = false;

/** The shared stream; undefined while this page is alone, and where the browser has no shared workers. */
export function sharedStream(): SharedStream | undefined {
  return stream;
}

/** From now on, the chat hears when the page changes over. */
export function register(sharable: Sharable, service: string, token: string | undefined): void {
  for (const each of sharables) if (each.isOver) sharables.delete(each);
  sharables.add(sharable);
  document.documentElement.dataset.shared ??= "off";
  if (channel || !("SharedWorker" in globalThis && "BroadcastChannel" in globalThis)) return;
  // Pages with different tokens do not share a stream.
  channel = new BroadcastChannel(`livechat-relay ${service} ${token ?? ""}`);
  channel.addEventListener("message", ({ data }) => {
    if (data === "here") channel?.postMessage("share");
    void changeOver(service, token);
  });
  channel.postMessage("here");
}

async function changeOver(service: string, token: string | undefined): Promise<void> {
  if (isAsked) return;
  isAsked = true;
  // Pages with six streams leave no connection for the module.
  for (const sharable of sharables) sharable.suspend();
  const module = await import("./shared-stream.ts").catch(() => undefined);
  isAsked = module !== undefined; // else the next page asks again
  const lost = (): void => {
    stream = undefined; // there is no worker: each page has its own streams again
    show();
  };
  stream = module?.openShared(service, token, lost);
  show();
}

function show(): void {
  document.documentElement.dataset.shared = stream ? "on" : "off";
  for (const sharable of [...sharables]) if (!sharable.isOver) sharable.changeOver(stream);
}
