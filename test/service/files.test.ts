/**
 * `files`: the documents and the files of deploy/, from the checkout; `test/programs/` has the same of a
 * release.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { outcome, ROOT } from "../support/command.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const filesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

describe("files", () => {
  it("writes deploy/ and docs/ byte for byte with all that their pages link to, and lists it all", async (t) => {
    const folder = join(await temporaryFolder(t), "new", "relay");
    const { code, out, error } = await outcome(["files", folder]);
    assert.deepEqual([code, error], [0, ""]);
    const written = await filesIn(folder);
    assert.deepEqual(out.split("\n").slice(0, -1), written);
    for (const path of written)
      assert.ok((await readFile(path)).equals(await readFile(join(ROOT, path.slice(folder.length)))), path);
    for (const own of ["deploy", "docs"])
      assert.deepEqual(
        written.filter((path) => path.startsWith(join(folder, own, "/"))),
        (await filesIn(join(ROOT, own))).map((path) => join(folder, path.slice(ROOT.length))),
      );
    for (const page of written.filter(
      (path) => path.startsWith(join(folder, "docs")) && path.endsWith(".md"),
    ))
      for (const [, link = ""] of (await readFile(page, "utf8")).matchAll(/\]\((?!https?:)([^)#\s]+)/g))
        assert.ok(existsSync(join(dirname(page), link)), `${page} links to ${link}`);
  });

  it("replaces nothing without --force, and writes nothing if it would have to", async (t) => {
    const folder = await temporaryFolder(t);
    await outcome(["files", folder]);
    const [own, missing] = [join(folder, "deploy/nginx.conf"), join(folder, "deploy/Caddyfile")];
    await rm(missing);
    const again = await outcome(["files", folder]);
    assert.deepEqual(again, { code: 0, out: `${missing}\n`, error: "" }); // the others are there
    await writeFile(own, "server_name mine;");
    await rm(missing);
    const refused = await outcome(["files", folder]);
    assert.deepEqual([refused.code, refused.out], [2, ""]);
    assert.equal(
      refused.error,
      `livechat-relay: ${own} would be replaced: name another folder, or add --force\n`,
    );
    assert.equal(await readFile(own, "utf8"), "server_name mine;");
    assert.ok(!existsSync(missing));
    const forced = await outcome(["files", folder, "--force"]);
    assert.deepEqual(forced, { code: 0, out: `${missing}\n${own}\n`, error: "" });
    assert.equal(await readFile(own, "utf8"), await readFile(join(ROOT, "deploy/nginx.conf"), "utf8"));
  });

  it("says in one line why a file cannot be written", async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, "docs"), "a file");
    const { code, error } = await outcome(["files", folder]);
    assert.equal(code, 1);
    assert.match(error, /^livechat-relay: [^\n]*cannot be written: [^\n]+\n$/);
    const onFile = await outcome(["files", join(folder, "docs")]);
    assert.match(onFile.error, /a file is where its folder should be: name another folder \(EEXIST\)\n$/);
    await mkdir(join(folder, "elsewhere/README.md"), { recursive: true });
    const inTheWay = await outcome(["files", join(folder, "elsewhere")]);
    assert.match(inTheWay.error, /^livechat-relay: \S+README\.md cannot be read: [^\n]+\n$/);
  });
});
