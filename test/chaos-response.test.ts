/** The chaos driver's own reader of HTTP and event streams, fed with bytes in every cut. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SseResponse } from "../chaos/sse-response.ts";
import { SseSocket } from "../chaos/sse-socket.ts";
import { type Answer, ScriptedServer } from "./support/scripted-server.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** What is told of bytes that come in these pieces, in words. */
function told(...pieces: readonly (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const response = new SseResponse({
    head: (status, headers) => lines.push(`head ${status} ${headers.get("content-type")}`),
    frame: ({ event, id, data }) => lines.push(`${event} ${id}: ${data}`),
    retry: (ms) => lines.push(`retry ${ms}`),
    comment: (text) => lines.push(`comment ${text}`),
    body: (text) => lines.push(`body ${text}`),
    malformed: (what) => lines.push(`malformed: ${what}`),
  });
  for (const piece of pieces) response.feed(Buffer.from(piece));
  response.end();
  if (response.isComplete) lines.push("complete");
  return lines;
}

/** The same bytes whole, byte by byte, and cut once at every place. */
function assertTold(text: string, due: readonly string[]): void {
  const bytes = Buffer.from(text);
  assert.deepEqual(told(bytes), due);
  assert.deepEqual(told(...Array.from(bytes, (byte) => Buffer.of(byte))), due, "byte by byte");
  for (let cut = 1; cut < bytes.length; cut += 1)
    assert.deepEqual(told(bytes.subarray(0, cut), bytes.subarray(cut)), due, `cut at ${cut}`);
}

const FRAMES = [
  "retry: 3000\n\n",
  ": keep\n:alive\n",
  "event: init\ndata: {}\n\n",
  "id: 7\nevent: message\ndata: one: 👋\ndata:two\n\n",
  "id: 8\n\n", // without data it is no frame
  "data\n\n",
].join("");
const READ = [
  "head 200 text/event-stream; charset=utf-8",
  "retry 3000",
  "comment keep",
  "comment alive",
  "init undefined: {}",
  "message 7: one: 👋\ntwo",
  "message undefined: ",
];

describe("a response of an event stream", () => {
  for (const [name, end] of [
    ["LF", "\n"],
    ["CR", "\r"],
    ["CRLF", "\r\n"],
  ] as const) {
    it(`is read in every cut, its lines ended by ${name}`, () => {
      const frames = FRAMES.replaceAll("\n", end);
      const halves = [frames.slice(0, 70), frames.slice(70)].map(chunk).join("");
      assertTold(`${CHUNKED}${halves}0\r\n\r\n`, [...READ, "complete"]);
    });
  }

  it("is read with chunk extensions and trailers", () => {
    assertTold(`${CHUNKED}${chunk(FRAMES).replace("\r\n", ";a=b\r\n")}000\r\nx: y\r\n\r\n`, [
      ...READ,
      "complete",
    ]);
  });

  it("is read by its length, and up to the end of the connection", () => {
    assertTold(`${HEAD}Content-Length: ${Buffer.byteLength(FRAMES)}\r\n\r\n${FRAMES}`, [...READ, "complete"]);
    assertTold(`${HEAD}\r\n${FRAMES}`, [...READ, "complete"]);
  });

  it("is not complete before its last chunk is, and half a frame is nothing", () => {
    assertTold(`${CHUNKED}${chunk(`${FRAMES}data: half\n`)}0\r\n`, READ);
  });

  for (const [title, bytes, words] of [
    ["a chunk's size that is none", "zz\r\n", 'a chunk\'s size is "zz"'],
    ["an empty size", "\r\n", 'a chunk\'s size is ""'],
    ["a chunk that is longer than its size", "2\r\n: \nid: 9\r\n", "a chunk that is longer than its size"],
    ["bytes after the last chunk", "0\r\n\r\nHTTP/1.1", "bytes after the response"],
    ["a line that is no field", chunk("hello: there\n"), "a line that is no field: hello: there"],
    ["a time that is no number", chunk("retry: soon\n"), "a line that is no field: retry: soon"],
  ] as const) {
    it(`tells of ${title}, and of nothing after it`, () => {
      assert.deepEqual(told(CHUNKED + bytes), [READ[0], `malformed: ${words}`]);
    });
  }

  it("tells nothing more once it is stopped in the midst of it", () => {
    const heard: string[] = [];
    const response = new SseResponse({
      head: () => {},
      frame: ({ data }) => {
        heard.push(data);
        response.stop();
      },
    });
    response.feed(Buffer.from(CHUNKED + chunk("data: 1\n\ndata: 2\n\n") + chunk("data: 3\n\n")));
    assert.deepEqual(heard, ["1"]);
    assert.ok(response.isOver && !response.isComplete);
  });
});

describe("a response that is no stream", () => {
  it("is told as a whole, once it is complete", () => {
    const head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n";
    const due = ["head 503 application/json", 'body {"author":"ł"}', "complete"];
    assertTold(`${head}Content-Length: 15\r\n\r\n{"author":"ł"}`, due);
    assertTold(
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunk('{"author":')}${chunk('"ł"}')}0\r\n\r\n`,
      due,
    );
    assertTold(`${head}Content-Length: 0\r\n\r\n`, [due[0] ?? "", "body ", "complete"]);
    assert.deepEqual(told(`${head}Content-Length: 15\r\n\r\n{"author"`), due.slice(0, 1));
  });

  for (const [title, bytes] of [
    ["a head that is none", "SSH-2.0-OpenSSH\r\n\r\n"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"],
  ] as const) {
    it(`tells of ${title}`, () => assert.deepEqual(told(bytes), [`malformed: ${title}`]));
  }
});

describe("a bare connection", () => {
  /** What is told on one connection; `onFrame` is called with each frame. */
  async function toldBy(answer: Answer, onFrame = (_connection: SseSocket) => {}): Promise<string[]> {
    await using server = await ScriptedServer.start([answer]);
    const lines: string[] = [];
    await new Promise<void>((resolve) => {
      const connection = new SseSocket(
        new URL("/v1/stream", server.url),
        { "last-event-id": "7" },
        {
          head: (status) => lines.push(`head ${status}`),
          frame: ({ data }) => {
            lines.push(data);
            onFrame(connection);
          },
          closed: (complete) => {
            lines.push(complete ? "complete" : "cut short");
            resolve();
          },
        },
      );
    });
    assert.deepEqual(
      server.callers.map(({ lastEventId }) => lastEventId),
      ["7"],
    );
    return lines;
  }

  it("tells nothing but its end once it is destroyed", async () => {
    const answer: Answer = (caller) => caller.send(`${CHUNKED}${chunk("data: 1\n\ndata: 2\n\n")}0\r\n\r\n`);
    assert.deepEqual(await toldBy(answer, (connection) => connection.destroy()), [
      "head 200",
      "1",
      "cut short",
    ]);
  });

  it("closes once the response is complete, although the server would take another request", async () => {
    const answer: Answer = (caller) => caller.send(`${CHUNKED}${chunk("data: 1\n\n")}0\r\n\r\n`);
    assert.deepEqual(await toldBy(answer), ["head 200", "1", "complete"]);
  });

  it("is complete where the end of the connection is that of the response", async () => {
    const answer: Answer = async (caller) => {
      await caller.send(`${HEAD}\r\ndata: 1\n\n`);
      caller.socket.end();
    };
    assert.deepEqual(await toldBy(answer), ["head 200", "1", "complete"]);
  });

  it("is cut short where it ends in a chunk", async () => {
    const answer: Answer = async (caller) => {
      await caller.send(`${CHUNKED}${chunk("data: 1\n\n")}a\r\ndata`);
      caller.socket.end();
    };
    assert.deepEqual(await toldBy(answer), ["head 200", "1", "cut short"]);
  });
});
