/** The help of each command: it fits a terminal of 100 columns, and leaves nothing of a meaning out. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { COMMANDS, type Command } from "../../../src/cli/commands.ts";
import { commandHelp, help } from "../../../src/cli/help.ts";

const COLUMNS = 100;
const onOneLine = (text: string) => text.replaceAll("`", "").replaceAll(/\s+/g, " ");

const PAGES: [name: string, page: string, commands: readonly Command[]][] = [
  ["--help", help(), [COMMANDS[0]]],
  ...COMMANDS.map((command): [string, string, Command[]] => [
    `${command.name} --help`,
    commandHelp(command),
    [command],
  ]),
];

describe(`help fits ${COLUMNS} columns, and has all of each meaning`, () => {
  for (const [name, page, commands] of PAGES) {
    it(name, () => {
      assert.deepEqual(
        page.split("\n").filter((line) => line.length > COLUMNS || line.endsWith(" ")),
        [],
      );
      for (const { usage, arguments: words = [], flags } of commands)
        for (const meaning of [usage, ...[...words, ...Object.values(flags)].map((each) => each.meaning)])
          assert.ok(onOneLine(page).includes(onOneLine(meaning)), meaning);
    });
  }
});
