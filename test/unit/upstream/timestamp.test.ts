/** The upstream's times, and the times of day and offsets that messages show. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isoTime, offsetText, timeOfDay } from "../../../src/upstream/readers/timestamp.ts";

test("an ISO time keeps the microseconds", () => {
  assert.equal(isoTime(1767323045678901), "2026-01-02T03:04:05.678901Z");
  assert.equal(isoTime(1767323045000001), "2026-01-02T03:04:05.000001Z");
  assert.equal(isoTime(1), "1970-01-01T00:00:00.000001Z");
});

test("a time of day is h:mm AM or PM in its zone, with a plain space", () => {
  const at = (iso: string, zone: string): string => timeOfDay(zone)(Date.parse(iso));
  assert.equal(at("2026-01-02T03:04:59.999Z", "UTC"), "3:04 AM");
  assert.equal(at("2026-01-02T00:05:00Z", "UTC"), "12:05 AM");
  assert.equal(at("2026-01-02T12:00:00Z", "UTC"), "12:00 PM");
  assert.equal(at("2026-01-02T03:04:00Z", "Asia/Kolkata"), "8:34 AM");
  assert.equal(at("2026-07-02T03:04:00Z", "America/New_York"), "11:04 PM");
  assert.throws(() => at("2026-01-02T12:00:00Z", "Nowhere/Land"), RangeError);
});

test("an offset is m:ss, h:mm:ss, or -m:ss before the start", () => {
  const texts: Record<number, string> = {
    0: "0:00",
    999: "0:00",
    1000: "0:01",
    101308: "1:41",
    3599999: "59:59",
    3600000: "1:00:00",
    36061000: "10:01:01",
    [-12_500]: "-0:12",
    [-231_000]: "-3:51",
    [-500]: "0:00",
  };
  for (const [ms, text] of Object.entries(texts)) assert.equal(offsetText(Number(ms)), text, ms);
});
