/**
 * Holds the folders of `src/` to the layers of ARCHITECTURE.md: what each may import, and nothing else. Holds
 * the files of all folders to their form.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, it } from "node:test";
import { parseSync, Visitor } from "oxc-parser";

const ROOT = join(import.meta.dirname, "../..");
const SRC = join(ROOT, "src");

/** The folder that all may import, except for the protocol, which clients import. */
const BASE = "base";
/** The folders that each folder may import besides itself and `BASE`. */
const LAYERS: Record<string, readonly string[]> = {
  [BASE]: [],
  protocol: [],
  telemetry: ["protocol"],
  upstream: ["protocol", "telemetry"],
  store: ["protocol", "telemetry"],
  serving: ["protocol", "telemetry", "store"],
  reading: ["protocol", "telemetry", "upstream", "store"],
  rooms: ["protocol", "telemetry", "upstream", "store", "serving", "reading"],
  multiplex: ["protocol", "telemetry", "store", "serving", "rooms"],
  origin: ["protocol", "telemetry", "store", "serving", "rooms"],
  http: ["protocol", "telemetry", "upstream", "serving", "rooms", "multiplex", "origin"],
  cli: [
    "protocol",
    "telemetry",
    "upstream",
    "store",
    "serving",
    "reading",
    "rooms",
    "multiplex",
    "origin",
    "http",
  ],
};

/** What `cli/` uses of the folders beside `src/`: the commands there, and the demo's upstream. */
const BESIDE = /^\.\.\/(terminal\/|simulator\/index\.ts$)/;

/** The folders that the simulation plays: their time and randomness come from the clock that they get. */
const SIMULATED = ["store", "upstream", "reading", "serving", "rooms", "multiplex"];
const GLOBALS =
  /\b(?:Date\.now|performance\.now|Math\.random|set(?:Timeout|Interval)|random\w+)\(|new Date\(\)/;
/** The files that use such a global nevertheless, and for what. */
const GLOBAL_TIME: Record<string, string> = {
  "store/postgres/notifications.ts": "a text that no other notification has",
  "store/postgres/postgres.ts": "the id of the process among all instances",
  "store/sqlite/sqlite-worker.ts": "a thread without the service's clock looks for its file",
};

/** The waits that no signal ends nevertheless, and why they may. */
const UNENDED_WAITS: Record<string, string> = {
  "src/rooms/rooms.ts: this.#parts.clock.sleep(ms)":
    "a stop may first wait for the load balancer, as long as its setting says",
  "src/rooms/stop.ts: clock.sleep(clock.random() * spreadMs)": "the last 1.5 s of a stop",
  "src/store/postgres/notifications.ts: clock.sleep(SPACING_MS)": "a pause of 20 ms between two queries",
};

/** The folders that are installed, served or imported by users, and the simulator, which `demo` runs. */
const PRODUCT = /^(?:src|simulator|terminal|client|web)\//;

/** What makes a whole relay. A test that imports one of them, itself or by its helpers, runs the relay. */
const WHOLE_RELAY = ["src/rooms/rooms.ts", "src/cli/service.ts", "src/cli/edge-service.ts"];

/** The tests that wait for a time on the computer's clock, as no event shows that it is over. */
const SLEEPING_TESTS: Record<string, string> = {
  "test/browser/log-chromium.test.ts": "a library that hands the last batch over by a timer of its own",
  "test/relay/origin/edge-line.test.ts": "a time limit of the HTTP client, which takes no clock",
  "test/service/store-sqlite-failures.test.ts": "the store's thread has no clock but the computer's",
  "test/unit/base/clock.test.ts": "the computer's clock is what it tests",
};
const SLEEP = /await systemClock\.sleep\(|\bsetTimeout as \w+|\bsetTimeout\(.*, [A-Z1-9]\w*\)/;

/** The files of a pattern. Fails if they are few: after a move of their folder, nothing would be checked. */
function filesOf(pattern: string, cwd: string, exclude: readonly string[] = []): string[] {
  const found = globSync(pattern, { cwd, exclude });
  assert.ok(found.length > 10, `${pattern} matches ${found.length} files in ${cwd}`);
  return found;
}

const files = filesOf("**/*.ts", SRC);

/**
 * The modules that a file of `folder` imports, dynamically too. `isNeeded`: which of its static imports
 * count.
 */
function importsOf(
  file: string,
  folder = SRC,
  isNeeded = (_name: string, _statement: string) => true,
): string[] {
  const source = readFileSync(join(folder, file), "utf8");
  const { module, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  const dynamic = module.dynamicImports.map(({ moduleRequest: at }) =>
    source.slice(at.start + 1, at.end - 1),
  );
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.map((entry) => entry.moduleRequest?.value),
  );
  const needed = module.staticImports
    .filter(({ moduleRequest, start, end }) => isNeeded(moduleRequest.value, source.slice(start, end)))
    .map(({ moduleRequest }) => moduleRequest.value);
  return [...needed, ...exported, ...dynamic].filter((name): name is string => name !== undefined);
}

const folderOf = (file: string): string => (file.includes("/") ? (file.split("/")[0] ?? "") : "");

/** Fails with the names on a circle, if the arrows have one. */
function assertNoCircle(arrows: ReadonlyMap<string, Iterable<string>>): void {
  const path: string[] = [];
  const done = new Set<string>();
  const visit = (name: string): void => {
    assert.ok(!path.includes(name), `${[...path.slice(path.indexOf(name)), name].join(" → ")}`);
    if (done.has(name)) return;
    path.push(name);
    for (const target of arrows.get(name) ?? []) visit(target);
    path.pop();
    done.add(name);
  };
  for (const name of arrows.keys()) visit(name);
}

describe("the import table", () => {
  it("lists every folder of src", () => {
    assert.deepEqual(new Set(files.map(folderOf)), new Set(Object.keys(LAYERS)));
  });

  for (const [folder, allowed] of Object.entries(LAYERS)) {
    it(`${folder} imports ${allowed.join(", ") || "no other folder"}`, () => {
      for (const file of files.filter((name) => folderOf(name) === folder)) {
        for (const name of importsOf(file).filter((found) => found.startsWith("."))) {
          const target = relative(SRC, join(SRC, dirname(file), name));
          const layer = folderOf(target);
          const open =
            layer === folder ||
            allowed.includes(layer) ||
            (layer === BASE && folder !== "protocol") ||
            (folder === "cli" && BESIDE.test(target));
          assert.ok(open, `${file} must not import ${target}`);
        }
      }
    });
  }

  it("lets the protocol use only itself and Node", () => {
    for (const file of files.filter((name) => folderOf(name) === "protocol")) {
      const foreign = importsOf(file).filter((name) => !name.startsWith(".") && !name.startsWith("node:"));
      assert.deepEqual(foreign, [], file);
    }
  });

  it("is the one in ARCHITECTURE.md", () => {
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    for (const [folder, allowed] of Object.entries(LAYERS)) {
      const row = new RegExp(`^${folder}/ +(.*?) {2,}`, "m").exec(architecture)?.[1];
      const listed = { [folder]: row === "–" ? [] : row === "everything" ? allowed : row?.split(" ") };
      assert.deepEqual(listed, { [folder]: allowed });
    }
  });
});

describe("the code", () => {
  /** Tests and tools in one folder may know each other's types, as nobody reads one of them alone. */
  const isArrow = (name: string, statement: string) =>
    !(name.startsWith("./") && !name.includes("/", 2) && statement.startsWith("import type"));

  it("has no circular imports; those of the product count even if they are only of types", () => {
    const folders = "{src,simulator,terminal,client,web,test,examples,tools}";
    const inside = globSync(`${folders}/**/*.ts`, {
      cwd: ROOT,
      exclude: ["**/dist/**", "**/node_modules/**"],
    });
    const imports = new Map(
      inside.map((file) => [
        file,
        importsOf(file, ROOT, PRODUCT.test(file) ? undefined : isArrow)
          .filter((name) => name.startsWith("."))
          .map((name) => join(dirname(file), name)),
      ]),
    );
    assertNoCircle(imports);
  });

  it("has no circle of folders inside a layer", () => {
    const arrows = new Map<string, Set<string>>();
    for (const file of files.filter((name) => name.split("/").length > 2)) {
      const folder = dirname(file);
      const targets = importsOf(file).map((name) => dirname(join(folder, name)));
      const siblings = targets.filter((to) => to !== folder && dirname(to) === dirname(folder));
      arrows.set(folder, new Set([...(arrows.get(folder) ?? []), ...siblings]));
    }
    assertNoCircle(arrows);
  });

  it("separates test/chaos/ and its clients from src/, of which they import only the JSON of the wire", () => {
    for (const file of filesOf("test/{chaos,harness/clients}/**/*.ts", ROOT)) {
      const targets = importsOf(file, ROOT).map((name) => join(dirname(file), name));
      const judged = targets.filter((target) => /^(terminal|src\/(?!base\/wire-json))/.test(target));
      assert.deepEqual(judged, [], file);
    }
  });

  it("separates the simulator: it imports only itself, src/base and Node", () => {
    for (const file of filesOf("simulator/*.ts", ROOT)) {
      const foreign = importsOf(file, ROOT)
        .map((name) => (name.startsWith(".") ? join(dirname(file), name) : name))
        .filter((name) => !/^(simulator\/|src\/base\/|node:)/.test(name));
      assert.deepEqual(foreign, [], file);
    }
  });

  it("lets the commands of the terminal import only the SDK and src", () => {
    for (const file of filesOf("terminal/**/*.ts", ROOT)) {
      for (const name of importsOf(file, ROOT).filter((found) => found.startsWith(".")))
        assert.match(join(dirname(file), name), /^(terminal\/|client\/index\.ts$|src\/)/, file);
    }
  });

  it("parts the tests: those in test/relay run the whole relay, those in test/unit do not", () => {
    const known = new Map<string, boolean>(WHOLE_RELAY.map((file) => [file, true]));
    const isUsed = (_name: string, statement: string) => !statement.startsWith("import type");
    const runsRelay = (file: string): boolean => {
      const imported = () => importsOf(file, ROOT, isUsed).filter((name) => name.startsWith("."));
      const isRun = (name: string) => runsRelay(join(dirname(file), name));
      const runs = known.get(file) ?? (file.startsWith("test/") && imported().some(isRun));
      known.set(file, runs);
      return runs;
    };
    assert.deepEqual(filesOf("test/unit/**/*.ts", ROOT).filter(runsRelay), []);
    assert.deepEqual(
      filesOf("test/relay/**/*.ts", ROOT).filter((file) => !runsRelay(file)),
      [],
    );
  });

  it("separates the SDK: of src it has protocol types and, at run time, only the table of kinds", () => {
    const client = join(ROOT, "client");
    for (const file of filesOf("*.ts", client, ["build.ts"])) {
      const source = readFileSync(join(client, file), "utf8");
      for (const [, type, name = ""] of source.matchAll(/^(?:im|ex)port (type )?[^;]*? from "([^"]+)";$/gm)) {
        const allowed = type ? /^\.\/|^\.\.\/src\/protocol\// : /^\.\/|^\.\.\/src\/protocol\/kinds\.ts$/;
        assert.match(name, allowed, file);
      }
      assert.deepEqual(
        importsOf(file, client).filter((name) => !name.startsWith(".")),
        [],
        file,
      );
    }
  });

  it("lets the pages import only the SDK and the protocol's types", () => {
    const web = join(ROOT, "web");
    for (const file of filesOf("**/*.ts", web)) {
      for (const name of importsOf(file, web)) {
        assert.match(
          relative(ROOT, join(web, dirname(file), name)),
          /^(web\/|client\/index\.ts$|src\/protocol\/)/,
          file,
        );
        assert.match(name, /^\./, file);
      }
    }
  });

  it("lets every file begin with what it is for", () => {
    const folders = "{src,simulator,terminal,client,web,test,tools}";
    const all = globSync(`${folders}/**/*.ts`, {
      cwd: ROOT,
      exclude: ["client/dist/**", "**/node_modules/**", "**/*.d.ts"],
    });
    const headless = all.filter((file) => !readFileSync(join(ROOT, file), "utf8").startsWith("/**"));
    assert.deepEqual(headless, []);
  });

  it("gives each file of the product a name of its own, so that it can be found by it", () => {
    const named = globSync("{src,simulator,terminal,client,web}/**/*.{ts,css,html}", {
      cwd: ROOT,
      exclude: ["**/dist/**"],
    });
    const places = Map.groupBy(named, (file) => basename(file));
    const shared = [...places].filter(([name, { length }]) => length > 1 && !/^(index|main)\./.test(name));
    assert.deepEqual(shared, []);
  });

  it("leaves time and randomness to the clock, where the simulation plays them", () => {
    const global = files.filter((file) => {
      const isPlayed = SIMULATED.some((folder) => file.startsWith(`${folder}/`));
      return isPlayed && GLOBALS.test(readFileSync(join(SRC, file), "utf8"));
    });
    assert.deepEqual(global.sort(), Object.keys(GLOBAL_TIME));
  });

  it("gives a signal to each wait of the product, unless it is only for a turn of the event loop", () => {
    const unended: string[] = [];
    for (const file of globSync("{src,simulator,terminal,client}/**/*.ts", {
      cwd: ROOT,
      exclude: ["**/dist/**"],
    })) {
      const text = readFileSync(join(ROOT, file), "utf8");
      const visitor = new Visitor({
        CallExpression({ callee, arguments: [ms, signal], start, end }) {
          const name = callee.type === "MemberExpression" ? callee.property : callee;
          const isWait = name.type === "Identifier" && name.name === "sleep" && signal === undefined;
          const isTurn = ms?.type === "Literal" && ms.value === 0;
          if (isWait && !isTurn) unended.push(`${file}: ${text.slice(start, end)}`);
        },
      });
      visitor.visit(parseSync(file, text).program);
    }
    assert.deepEqual(unended.sort(), Object.keys(UNENDED_WAITS));
  });

  it("lets tests wait for events, and for a time only where no event shows that it is over", () => {
    const tests = globSync("test/**/*.test.ts", { cwd: ROOT, exclude: ["**/node_modules/**"] });
    const sleeping = tests.filter((file) => SLEEP.test(readFileSync(join(ROOT, file), "utf8")));
    assert.deepEqual(sleeping.sort(), Object.keys(SLEEPING_TESTS));
  });
});
