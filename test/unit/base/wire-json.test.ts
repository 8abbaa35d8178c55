/**
 * Text on the wire: no client's splitting of lines cuts a frame or a body, and text is read back unchanged.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { wireJson } from "../../../src/base/wire-json.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { codePoint } from "../../support/any-text.ts";

/** What Python's `str.splitlines` splits at. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: some of them are control characters
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
/** C0 and C1 control characters, and the two separators. */
const RAW = /[\p{Cc}\u2028\u2029]/u;

const separators = fc.constantFrom(...'\r\n\v\f\x1c\x1d\x1e\x7f\x80\x85\x9f\u2028\u2029\ud800\udc00"\\u');
const text = fc.string({
  unit: fc.oneof(separators, codePoint),
});

test("a frame stays whole wherever clients split lines, and gives back text, unescaped or not", () => {
  fc.assert(
    fc.property(text, fc.boolean(), (said, isDetailed) => {
      // As stores hold it that were written before anything was escaped.
      const stored = {
        id: "a",
        cursor: 7,
        body: JSON.stringify({ said }),
        details: JSON.stringify({ said }),
      };
      const form = isDetailed ? FORMS.sse.detailed.bare : FORMS.sse.plain.bare;
      const frame = form.frame(stored).toString("utf8");
      const [id, event, data = "", ...rest] = frame.split(LINE_ENDS);
      assert.deepEqual([id, event, rest], ["id: 7", "event: message", ["", ""]]);
      const all = isDetailed ? { said, details: { said } } : { said };
      assert.equal(data, `data: ${wireJson(all)}`);
      assert.deepEqual(JSON.parse(data.slice("data: ".length)), all);
    }),
  );
});

test("the frames around messages are also escaped", () => {
  const error = { code: "UPSTREAM_ERROR", message: "one\u2028two\u0085three\u009f" } as const;
  const frame = String(FORMS.sse.plain.bare.end({ state: "failed", error }, 0, undefined).bytes);
  assert.doesNotMatch(frame.replaceAll("\n", ""), RAW);
  assert.ok(frame.includes("one\\u2028two\\u0085three\\u009f"), frame);
});

test("JSON keeps lone surrogates and everything else as JSON.stringify writes them", () => {
  fc.assert(
    fc.property(text, (said) => {
      const json = wireJson({ said });
      assert.doesNotMatch(json, RAW);
      assert.deepEqual(JSON.parse(json), { said });
      if (!RAW.test(said)) assert.equal(json, JSON.stringify({ said }));
    }),
  );
});
