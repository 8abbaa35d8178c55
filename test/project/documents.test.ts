/** A change of documents alone: what counts as one, and what `.ci/run` then plays. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { ROOT } from "../support/command.ts";
import { areDocuments, readsDocuments } from "../support/documents.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const PAGE = "docs/api.md";
const CODE = "src/cli/run.ts";

/** The scripts that any change plays, and all of them. */
const OF_DOCUMENTS = ["check", "ci", "docs:commands", "release", "test:all --documents"];
const OF_EVERYTHING = ["chaos", "check", "ci", "docs:commands", "mutants", "release", "simulate", "test:all"];

/** A small repository with `.ci/run`, and with programs in the path that only note how they are called. */
class Repository {
  readonly #folder: string;
  readonly #calls: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(folder: string) {
    this.#folder = join(folder, "repository");
    this.#calls = join(folder, "calls");
    const programs = join(folder, "programs");
    const path = [programs, process.env.PATH].join(delimiter);
    this.#env = { ...process.env, PATH: path, CALLS: this.#calls, NODE: process.execPath };
    for (const path of [".ci/run", "test/support/documents.ts", "test/harness/commit.ts", ".gitignore"])
      cpSync(join(ROOT, path), join(this.#folder, path));
    symlinkSync(join(ROOT, "node_modules"), join(this.#folder, "node_modules"));
    mkdirSync(programs);
    for (const [path, line] of [
      [join(programs, "npm"), 'echo "$*" >>"$CALLS"'],
      [join(programs, "npx"), 'shift; exec "$NODE" "$@"'],
      [join(this.#folder, ".ci/programs"), ""],
    ] as const)
      writeFileSync(path, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    this.git("init", "--quiet");
    this.commit();
    this.write(PAGE, CODE);
    this.commit();
  }

  /** Changes files. */
  write(...paths: string[]): void {
    for (const path of paths) {
      mkdirSync(join(this.#folder, dirname(path)), { recursive: true });
      writeFileSync(join(this.#folder, path), "changed\n", { flag: "a" });
    }
  }

  rename(path: string, other: string): void {
    renameSync(join(this.#folder, path), join(this.#folder, other));
  }

  /** Commits all that has changed. */
  commit(): void {
    const by = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"];
    this.git("add", "--all");
    this.git(...by, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "--message", "a change");
  }

  /** What the command of git prints. */
  git(...words: string[]): string {
    return execFileSync("git", words, { cwd: this.#folder, encoding: "utf8" }).trim();
  }

  /** The scripts that `.ci/run` plays for the change since a commit, in alphabetical order. */
  played(base: string): string[] {
    writeFileSync(this.#calls, "");
    execFileSync(join(this.#folder, ".ci/run"), {
      cwd: this.#folder,
      env: { ...this.#env, CI_BASE: base },
      stdio: "pipe",
    });
    const calls = readFileSync(this.#calls, "utf8").matchAll(
      /^(?:run (?:-s )?)?([\w:]+)(?:.*( --documents))?/gm,
    );
    return [...new Set(Array.from(calls, ([, script = "", flag = ""]) => script + flag))].sort();
  }
}

describe("documents are", () => {
  for (const path of ["README.md", "CHANGELOG.md", PAGE, "docs/pictures/page-night.png", "client/README.md"])
    it(path, () => assert.ok(areDocuments([PAGE, path])));
});

describe("documents are not", () => {
  for (const path of [
    ...[CODE, "client/index.ts", "web/page/icon.svg", "test/run.ts", ".ci/run", "package.json", "prose.yml"],
    ...["docs/grafana-dashboard.json", "docs/api.ts", "docs/pictures/page.html", "docs/new/page.md"],
    ...["src/README.md", "simulator/facts.md", "deploy/README.md", "examples/README.md", "LICENSE"],
  ])
    it(path, () => assert.ok(!areDocuments([PAGE, path])));

  it("there if nothing has changed", () => assert.ok(!areDocuments([])));
});

describe("what .ci/run plays", () => {
  /** A change of a repository whose last commit has passed, and the scripts that it plays. */
  const CHANGES: [what: string, change: (own: Repository) => void, played: readonly string[]][] = [
    ["a document", (own) => own.write(PAGE), OF_DOCUMENTS],
    ["code", (own) => own.write(CODE), OF_EVERYTHING],
    ["a document and code", (own) => own.write(PAGE, CODE), OF_EVERYTHING],
    ["code that becomes a document", (own) => own.rename(CODE, "docs/run.md"), OF_EVERYTHING],
    ["a document and new code", (own) => own.write(PAGE, "src/new.ts"), OF_EVERYTHING],
    [
      "code, and then a document",
      (own) => {
        own.write(CODE);
        own.commit();
        own.write(PAGE);
      },
      OF_EVERYTHING,
    ],
    ["nothing", () => {}, OF_EVERYTHING],
  ];
  for (const [what, change, played] of CHANGES) {
    it(`of ${what}: ${played.join(", ")}`, async (t) => {
      const own = new Repository(await temporaryFolder(t));
      const base = own.git("rev-parse", "HEAD");
      change(own);
      assert.deepEqual(own.played(base), played, "not committed");
      own.commit();
      assert.deepEqual(own.played(base), played, "committed");
    });
  }

  it("is everything if no commit is known that has passed", async (t) => {
    const own = new Repository(await temporaryFolder(t));
    own.write(PAGE);
    own.commit();
    assert.deepEqual(own.played(""), OF_EVERYTHING);
  });
});

describe("a test is played with the documents", () => {
  for (const [how, file, expected] of [
    ["if its code names one", "test/unit/telemetry/metrics.test.ts", true],
    ["if the code of a helper does", "test/browser/page-drawing.test.ts", true],
    ["not for a comment of a helper", "test/chaos/chaos-service.test.ts", false],
  ] as const)
    it(how, () => assert.equal(readsDocuments(file), expected));
});
