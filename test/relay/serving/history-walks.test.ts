/** Histories of the stores without a server, walked through in pages. */
import { describe, it } from "node:test";
import { walksOn } from "../../support/history-walks.ts";
import { openFor, temporaryFile } from "../../support/store-subject.ts";

describe("a walk through a history in pages", () => {
  it(
    "in memory",
    walksOn((t, wall) => openFor(t, "memory:", wall), 120),
  );
  it(
    "in SQLite",
    walksOn(async (t, wall) => openFor(t, `sqlite:${await temporaryFile(t)}`, wall), 20),
  );
});
