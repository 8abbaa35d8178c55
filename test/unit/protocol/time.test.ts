/** How a point in time may be written, and which cannot be one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseTime } from "../../../src/protocol/time.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

const TIMES: [string, number][] = [
  ["0", 0],
  [`${NOON}`, NOON],
  ["8640000000000000", 8.64e15],
  ["2026-11-20T12:00:00Z", NOON],
  ["2026-11-20t12:00z", NOON],
  ["2026-11-20T12:00:00.25Z", NOON + 250],
  ["2026-11-20T12:00:00,250Z", NOON + 250],
  ["2026-11-20T13:30:00+01:30", NOON],
  ["2026-11-20T13:30+0130", NOON],
  ["2026-11-20T07:00:00-05", NOON],
  ["2026-11-20T13:00:00 01:00", NOON], // a plus sign that a query has turned into a blank
  ["2026-11-20T12:00:00.2500001Z", NOON + 251], // nothing stored in millisecond 250 is as late
  ["2026-11-20T12:00:00.250000Z", NOON + 250],
  ["2028-02-29T00:00Z", Date.UTC(2028, 1, 29)],
  ["1969-12-31T23:59:59.999Z", -1],
];
describe("the parser of times", () => {
  for (const [text, ms] of TIMES) it(`reads ${text}`, () => assert.equal(parseTime(text), ms));

  it("rounds down where that is asked for", () => {
    assert.equal(parseTime("2026-11-20T12:00:00.2509999Z", "down"), NOON + 250);
  });

  const NONE = [
    "",
    "now",
    "-1",
    "1.5",
    "1e3",
    "8640000000000001",
    "99999999999999999",
    "2026-11-20",
    "2026-11-20T12:00:00",
    "2026-11-20 12:00:00Z",
    "2026-02-29T00:00Z",
    "2026-13-01T00:00Z",
    "2026-11-20T25:00Z",
    "2026-11-20T12:60Z",
    "2026-11-20T12:00:00+24:30",
    "2026-11-20T12:00:00.Z",
    "2026-11-20T12:00Z ",
    "Fri, 20 Nov 2026 12:00:00 GMT",
  ];
  for (const text of NONE)
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseTime(text), undefined));
});
