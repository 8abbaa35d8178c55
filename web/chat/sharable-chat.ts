/** A chat that goes on over the shared stream once there is one, and its listeners notice nothing. */
import type { SharedStream } from "./shared-stream.ts";
import { register, type Sharable, sharedStream } from "./sharing.ts";
import type { SourceChat } from "./source-chat.ts";

type EventName = Parameters<SourceChat["on"]>[0];
type Value = Parameters<Parameters<SourceChat["on"]>[1]>[0];
type Listener = { event: EventName; listener: (value: Value) => void; off: () => void };

interface Openers {
  /** A stream of its own, after the cursor if there is one. */
  own(cursor: number | string | undefined): SourceChat;
  /** Undefined if the shared stream cannot carry it. */
  shared(stream: SharedStream, cursor: number | string | undefined): SourceChat | undefined;
}

export class SharableChat implements Sharable {
  readonly #open: Openers;
  readonly #listeners = new Set<Listener>();
  #chat: SourceChat;
  /** The state that it shows while it is suspended. */
  #suspendedIn: SourceChat["state"] | undefined;

  constructor(service: string, token: string | undefined, open: Openers) {
    this.#open = open;
    register(this, service, token);
    this.#chat = this.#opened(sharedStream(), undefined);
  }

  get state(): SourceChat["state"] {
    return this.#suspendedIn ?? this.#chat.state;
  }

  get isOver(): boolean {
    return this.state === "closed";
  }

  get cursor(): number | string | undefined {
    return this.#chat.cursor;
  }

  on(event: EventName, listener: (value: Value) => void): () => void {
    const own: Listener = { event, listener, off: () => {} };
    this.#listeners.add(own);
    own.off = this.#chat.on(event, listener);
    return () => {
      this.#listeners.delete(own);
      own.off();
    };
  }

  close(): void {
    this.#suspendedIn = undefined;
    this.#chat.close();
  }

  suspend(): void {
    if (this.isOver) return;
    this.#suspendedIn = this.state;
    for (const { off } of this.#listeners) off();
    this.#chat.close();
  }

  changeOver(stream: SharedStream | undefined): void {
    this.suspend();
    this.#suspendedIn = undefined;
    this.#chat = this.#opened(stream, this.#chat.cursor);
    for (const each of this.#listeners) each.off = this.#chat.on(each.event, each.listener);
  }

  #opened(stream: SharedStream | undefined, cursor: number | string | undefined): SourceChat {
    return (stream && this.#open.shared(stream, cursor)) ?? this.#open.own(cursor);
  }
}
