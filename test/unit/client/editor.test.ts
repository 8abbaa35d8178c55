/** What an editor shows of the SDK: the meaning of fields and options, and the fault of a wrong option. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "../../..");
/** Each line is hovered at its mark, which is not part of it. */
const SOURCE = `import { chat, merged } from "./index.ts";
const room = chat("u", { ^videoId: "v", ^details: true, ^types: ["paid"], ^backfill: 3 });
room.^cursor;
room.^on("gap", (gap) => gap.^after);
for await (const m of room) {
  m.^cursor; m.^id; m.^author; m.^message; m.^timestamp; m.^amount; m.^color; m.^parts;
  m.details.^amount; m.details.^authorId; m.details.^tier;
  if (m.type === "superchat") m.details.^amount;
}
for await (const m of chat("u", { ^channel: "@c" })) m.^author;
for await (const m of merged("u", { ^videoIds: [] })) if (m.type === "chat") m.^author;
`;
const uriOf = (name: string) => pathToFileURL(join(ROOT, "client", name)).href;

/** Wrong options, and what the compiler must say of each. */
const WRONG: [options: string, says: RegExp][] = [
  [`{ videoId: "v", backfil: 3 }`, /'backfil' does not exist in type 'ChatOptions/],
  [`{ channel: "@c", backfil: 3 }`, /'backfil' does not exist in type 'ChannelOptions/],
  [`{ videoId: "v", cursor: "3" }`, /Type 'string' is not assignable to type 'number'/],
  [`{ channel: "@c", cursor: 3 }`, /Type 'number' is not assignable to type 'string'/],
  [`{ channel: "@c", until: "now" }`, /'until' does not exist in type 'ChannelOptions/],
  [`{ videoId: "v", types: ["payed"] }`, /^Type '"payed"' is not assignable to type 'TypeOrGroup'/],
  [`{ channel: "@c", types: ["payed"] }`, /^Type '"payed"' is not assignable to type 'TypeOrGroup'/],
  [`{ channel: "@c", videoId: "v" }`, /Type 'string' is not assignable to type 'undefined'/],
  [
    `{ videoId: "v", retry: () => "5" }`,
    /Type 'string' is not assignable to type 'number | false | undefined'/,
  ],
];

/** Speaks the language server protocol with the compiler. */
class LanguageServer {
  readonly #child = spawn(join(ROOT, "node_modules/.bin/tsc"), ["--lsp", "--stdio"], { cwd: ROOT });
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #received = Buffer.alloc(0);
  #requests = 0;

  constructor() {
    this.#child.stdout.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      for (;;) {
        const head = /^Content-Length: (\d+)\r\n\r\n/.exec(this.#received.toString("latin1"));
        const end = (head?.[0].length ?? 0) + Number(head?.[1]);
        if (!head || this.#received.length < end) return;
        this.#take(JSON.parse(this.#received.subarray(head[0].length, end).toString()));
        this.#received = this.#received.subarray(end);
      }
    });
  }

  #take({
    id,
    method,
    result,
    params,
  }: {
    id?: number;
    method?: string;
    result?: unknown;
    params?: { items?: [] };
  }) {
    if (id === undefined) return;
    if (method) this.#write({ id, result: params?.items?.map(() => null) ?? null });
    else this.#waiting.get(id)?.(result);
  }

  #write(message: object) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.#child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  notify(method: string, params: object): void {
    this.#write({ method, params });
  }

  ask<T>(method: string, params: object): Promise<T> {
    const id = ++this.#requests;
    this.#write({ id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve as (result: unknown) => void));
  }

  stop(): void {
    this.#child.kill();
  }
}

describe("an editor", { timeout: 120_000 }, () => {
  let server: LanguageServer;
  before(async () => {
    server = new LanguageServer();
    const capabilities = { textDocument: { hover: { contentFormat: ["markdown"] } } };
    await server.ask("initialize", { processId: null, rootUri: pathToFileURL(ROOT).href, capabilities });
    server.notify("initialized", {});
    const wrong = WRONG.map(([options]) => `chat("u", ${options});`);
    const texts = {
      "hovered.ts": SOURCE.replaceAll("^", ""),
      "wrong.ts": ['import { chat } from "./index.ts";', ...wrong].join("\n"),
    };
    for (const [name, text] of Object.entries(texts))
      server.notify("textDocument/didOpen", {
        textDocument: { uri: uriOf(name), languageId: "typescript", version: 1, text },
      });
  });
  after(() => server.stop());

  it("shows the documentation of each field and option where it is used", async () => {
    const bare: string[] = [];
    for (const [line, marked] of SOURCE.split("\n").entries()) {
      for (const [index, part] of marked.split("^").entries()) {
        if (index === 0) continue;
        const character = marked.split("^").slice(0, index).join("").length;
        const hover = await server.ask<{ contents: { value: string } } | null>("textDocument/hover", {
          textDocument: { uri: uriOf("hovered.ts") },
          position: { line, character },
        });
        const [signature, documentation = ""] = hover?.contents.value.split("\n```\n") ?? [];
        if (!documentation.trim()) bare.push(`${/^\w+/.exec(part)} in ${marked.trim()}: ${signature}`);
      }
    }
    assert.deepEqual(bare, []);
  });

  it("compares a wrong option of chat() with the options that were meant", async () => {
    interface Report {
      items: { message: string; range: { start: { line: number } } }[];
    }
    const { items } = await server.ask<Report>("textDocument/diagnostic", {
      textDocument: { uri: uriOf("wrong.ts") },
    });
    for (const [index, [options, says]] of WRONG.entries()) {
      const told = items.filter(({ range }) => range.start.line === index + 1).map(({ message }) => message);
      assert.equal(told.length, 1, options);
      assert.match(told[0] ?? "", says, options);
      assert.doesNotMatch(told[0] ?? "", /overload/i);
    }
  });
});
