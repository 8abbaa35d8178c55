/**
 * The design sheet states its contrasts as they are, the icons are those of their set, and no file is too
 * new.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { transformSync } from "esbuild";
import { iconSheet, SHEET } from "../../../tools/pictures/icons.ts";
import { tooNewIn } from "../../support/older-engine.ts";

const WEB = join(import.meta.dirname, "../../../web");
const COLOR = /^ *--([\w-]+): var\(--by-day, (#\w{6})\) var\(--by-night, (#\w{6})\);(?: \/\* (.*) \*\/)?$/gm;
const CLAIM = /^on ([\w-]+) ([\d.]+) \| ([\d.]+)$/;
/** Edges and signs; everything else that claims a contrast is text. */
const NO_TEXT: ReadonlySet<string> = new Set(["edge", "mark", "meter-bar"]);

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

describe("the design sheet", () => {
  const sheet = readFileSync(join(WEB, "chat/design.css"), "utf8");
  const colors = new Map(
    [...sheet.matchAll(COLOR)].map(([, name = "", day = "", night = "", claim]) => [
      name,
      { day, night, claim },
    ]),
  );

  it("states each contrast correctly, and each is sufficient", () => {
    let claims = 0;
    for (const [name, { day, night, claim }] of colors) {
      const [, ground = "", byDay, byNight] = CLAIM.exec(claim ?? "") ?? [];
      if (claim === undefined) continue;
      const behind = colors.get(ground) ?? assert.fail(`${name} is on ${ground}, which is no colour`);
      const found = [contrast(day, behind.day), contrast(night, behind.night)];
      assert.deepEqual(
        found.map((each) => each.toFixed(1)),
        [byDay, byNight],
        name,
      );
      const least = NO_TEXT.has(name) ? 3 : 4.5;
      assert.ok(Math.min(...found) >= least, `${name} on ${ground} has less than ${least}`);
      claims += 1;
    }
    assert.ok(claims >= 14, `${claims} claims`);
  });

  it("gives every text colour a contrast", () => {
    const grounds = new Set([...colors.values()].map(({ claim }) => CLAIM.exec(claim ?? "")?.[1]));
    const silent = [...colors].filter(([name, { claim }]) => claim === undefined && !grounds.has(name));
    assert.deepEqual(
      silent.map(([name]) => name),
      ["rule", "accent-soft", "member-card", "hover"],
    );
  });
});

it("the icons equal those of their set", () => {
  assert.equal(readFileSync(SHEET, "utf8"), iconSheet());
  assert.match(
    readFileSync(join(WEB, "chat/icons.LICENSE"), "utf8"),
    /^ISC License[\s\S]*Lucide[\s\S]*MIT License/,
  );
});

it("the overlay's scripts have only syntax that the oldest supported browser knows", () => {
  const files = globSync("{web/{chat,overlay}/**,client}/*.ts", { cwd: join(WEB, "..") });
  assert.ok(files.length > 30);
  for (const file of files) {
    const source = readFileSync(join(WEB, "..", file), "utf8");
    const [old, now] = ["chrome103", "esnext"].map(
      (target) => transformSync(source, { loader: "ts", target }).code,
    );
    assert.equal(old, now, file);
  }
});

for (const file of globSync("{chat,overlay}/**/*.css", { cwd: WEB })) {
  it(`${file} has only features that the oldest supported browser knows`, () => {
    assert.deepEqual(tooNewIn(readFileSync(join(WEB, file), "utf8")), []);
  });
}
