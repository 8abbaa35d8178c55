/** The SDK's reader of Server-Sent Events, fed in pieces of every size. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FrameReader } from "../../../client/sse.ts";

const frame = (data: string, event = "message", id = "") => ({ event, data, id });

const ROWS: [what: string, stream: string, frames: object[]][] = [
  ["an event", "data: a\n\n", [frame("a")]],
  ["each kind of line end", "data: a\r\rdata: b\r\n\r\ndata: c\n\n", [frame("a"), frame("b"), frame("c")]],
  ["lines of one event that end with CR LF", "data: a\r\ndata: b\r\n\r\n", [frame("a\nb")]],
  ["mixed line ends", "data: a\r\n\ndata: b\n\r\n", [frame("a"), frame("b")]],
  [
    "a byte order mark, at the start alone",
    "\uFEFFdata: a\n\ndata: \uFEFFb\n\n",
    [frame("a"), frame("\uFEFFb")],
  ],
  ["comments and keepalives", ": hello\ndata: a\n:\n\n: keepalive\n\n", [frame("a")]],
  ["data of several lines", "data: a\ndata:\ndata: b\n\n", [frame("a\n\nb")]],
  ["one space after the colon, no more", "data:a\n\ndata:  b\n\n", [frame("a"), frame(" b")]],
  ["a field without a colon", "data\n\n", [frame("")]],
  ["an event's name, for one event", "event: end\ndata: a\n\ndata: b\n\n", [frame("a", "end"), frame("b")]],
  ["no event without data", "event: end\n\ndata: a\n\n: keepalive\n\nretry: 1\n\n", [frame("a")]],
  [
    "an id without data",
    "id: 1\n\nevent: end\nid: 2\n\n: keepalive\n\ndata: a\n\n",
    [frame("", "", "1"), frame("", "", "2"), frame("a", "message", "2")],
  ],
  [
    "ids that persist",
    "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
    [frame("a", "message", "1"), frame("b", "message", "1"), frame("c")],
  ],
  ["no id that holds NUL", "id: 1\nid: 2\0\ndata: a\n\n", [frame("a", "message", "1")]],
  ["unknown fields", "hello: b\ndata: a\nData: c\n\n", [frame("a")]],
  ["letters of two to four bytes", "data: é漢😀\n\n", [frame("é漢😀")]],
  ["colons in the data", 'data: {"a":1}\n\n', [frame('{"a":1}')]],
  ["nothing of an event that is cut off", "data: a\n\ndata: b\n", [frame("a")]],
];

function framesOf(stream: string, size: number): object[] {
  const reader = new FrameReader();
  const bytes = new TextEncoder().encode(stream);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return pieces.flatMap((piece) => [...reader.read(piece)]);
}

describe("the SDK's reader of Server-Sent Events", () => {
  for (const [what, stream, frames] of ROWS) {
    it(`reads ${what}`, () => {
      for (const size of [1, 2, 3, 5, 7, 1000])
        assert.deepEqual(framesOf(stream, size), frames, `in ${size}s`);
    });
  }

  it("does not wait for the LF that may follow a CR", () => {
    assert.equal(framesOf("data: a\r\r", 1).length, 1);
  });

  it("uses retry only if it is a number", () => {
    const reader = new FrameReader();
    const read = (text: string) => [...reader.read(new TextEncoder().encode(text))];
    read("retry: 1500\n");
    read("retry: 1.5\nretry: soon\nretry\n");
    assert.equal(reader.retryMs, 1500);
  });

  it("reads events of 16 MB one after the other, and refuses larger ones, in one line or several", () => {
    const most = `data: ${"x".repeat(16 * 2 ** 20 - 6)}`;
    const bytesOf = (text: string) => new TextEncoder().encode(text);
    const reader = new FrameReader();
    const lengths = [most, "\n\n", most, "\n\n"].flatMap((piece) =>
      [...reader.read(bytesOf(piece))].map(({ data }) => data.length),
    );
    assert.deepEqual(lengths, [most.length - 6, most.length - 6]);
    for (const more of ["x", "\ndata: xxxxxxx"]) {
      const other = new FrameReader();
      assert.deepEqual([...other.read(bytesOf(most))], []);
      const error = { name: "ChatError", code: "NETWORK", message: /16 MB/ };
      assert.throws(() => [...other.read(bytesOf(more))], error);
    }
  });

  it("reads a line of megabytes that arrives in small pieces", { timeout: 10_000 }, () => {
    assert.equal(framesOf(`data: ${"x".repeat(4_000_000)}\n\n`, 1024).length, 1);
  });
});
