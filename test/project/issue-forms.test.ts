/**
 * The forms of issues of `.github/`, by the keys that GitHub documents; what they ask for must exist here.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { COMMANDS } from "../../src/cli/commands.ts";
import { ROOT } from "../support/command.ts";

const FOLDER = join(ROOT, ".github");
const FORMS = globSync("ISSUE_TEMPLATE/*.yml", { cwd: FOLDER });
const textOf = (path: string) => readFileSync(join(FOLDER, path), "utf8");

type Fields = Record<string, unknown>;

const isText = (value: unknown) => typeof value === "string" && value.trim() !== "";
const isFlag = (value: unknown) => typeof value === "boolean";
const isTexts = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText);
const isBoxes = (value: unknown) =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((box) => faultsOf(box, { label: isText }, { required: isFlag }).length === 0);
const isPlace = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;

type Rules = Record<string, (value: unknown) => boolean>;
const LABELLED = { label: isText };
const DESCRIBED = { description: isText };

/** What the attributes of each kind of field must and may have, as GitHub documents the syntax of forms. */
const ATTRIBUTES: Record<string, [must: Rules, may: Rules]> = {
  markdown: [{ value: isText }, {}],
  input: [LABELLED, { ...DESCRIBED, placeholder: isText, value: isText }],
  textarea: [LABELLED, { ...DESCRIBED, placeholder: isText, value: isText, render: isText }],
  dropdown: [
    { ...LABELLED, options: isTexts },
    { ...DESCRIBED, multiple: isFlag, default: isPlace },
  ],
  checkboxes: [{ ...LABELLED, options: isBoxes }, DESCRIBED],
};

/** The names of fields that are missing, unknown or of another type. */
function faultsOf(fields: Fields, must: Rules, may: Rules): string[] {
  const missing = Object.keys(must).filter((name) => !(name in fields));
  const wrong = Object.entries(fields).filter(([name, value]) => !{ ...must, ...may }[name]?.(value));
  return [...missing, ...wrong.map(([name]) => name)];
}

/** The faults of a form of issues; each names the field. */
function faultsOfForm(text: string): string[] {
  const form: Fields & { body?: Fields[] } = parse(text, { uniqueKeys: true });
  const own = { name: isText, description: isText, body: Array.isArray };
  const faults = faultsOf(form, own, {
    title: isText,
    labels: isTexts,
    assignees: isTexts,
    projects: isTexts,
    type: isText,
  });
  const body = form.body ?? [];
  if (!body.some(({ type }) => type !== "markdown")) faults.push("body: only text");
  const ids = body.flatMap(({ id }) => id ?? []);
  if (new Set(ids).size < ids.length) faults.push("body: the same id twice");
  for (const { type, id = "", attributes = {}, validations = {}, ...others } of body) {
    const [must, may] = ATTRIBUTES[`${type}`] ?? [{ type: () => false }, {}];
    const found = [
      ...faultsOf(attributes as Fields, must, may),
      ...faultsOf(validations as Fields, {}, type === "markdown" ? {} : { required: isFlag }),
      ...Object.keys(others),
      ...(/^[\w-]*$/.test(`${id}`) ? [] : ["id"]),
    ];
    faults.push(...found.map((name) => `${type} ${id}: ${name}`));
  }
  return faults;
}

describe("a form of issues", () => {
  it("is there", () => {
    assert.deepEqual(FORMS, ["ISSUE_TEMPLATE/problem.yml"]);
  });

  for (const path of FORMS) {
    const text = textOf(path);

    it(`${path} is valid, and its mistakes would be noticed`, () => {
      assert.deepEqual(faultsOfForm(text), []);
      for (const [right, wrong] of [
        ["description: ", "descripton: "],
        ["type: textarea", "type: text"],
        ["required: true", "required: always"],
        ["label: ", "labels: "],
        ["id: version", "id: report"],
        ["id: version", "id: the version"],
      ] as const) {
        assert.ok(text.includes(right), right);
        assert.notDeepEqual(faultsOfForm(text.replace(right, wrong)), [], wrong);
      }
    });

    it(`${path} asks for commands and files that there are`, () => {
      const asked = [...text.matchAll(/`livechat-relay (\w+)([^`]*)`/g)];
      assert.ok(asked.some(([, name]) => name === "check"));
      for (const [, name = "", rest = ""] of asked) {
        const command = COMMANDS.find((each) => each.name === name);
        assert.ok(command, name);
        for (const [, flag = ""] of rest.matchAll(/--([\w-]+)/g)) assert.ok(flag in command.flags, flag);
      }
      for (const [file] of text.matchAll(/\b[\w/]+\.md\b/g)) assert.ok(existsSync(join(ROOT, file)), file);
    });
  }
});
