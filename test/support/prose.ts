/** The prose linter: textlint with the words of prose.yml, for documents and for what people read of code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { parseSync, Visitor, type VisitorObject } from "oxc-parser";
import prh from "textlint-rule-prh";
import sentenceLength from "textlint-rule-sentence-length";

const MAX_SENTENCE = 250;
/** A string with this many words is a text. */
const MIN_WORDS = 3;
/** The functions of node:test that take a title. */
const TITLED = new Set(["describe", "it", "test"]);

export const WORDS = readFileSync(join(import.meta.dirname, "../../prose.yml"), "utf8");

const kernel = new TextlintKernel();

/** What the linter finds in a text, with its line. */
export async function lint(text: string): Promise<string[]> {
  const { messages } = await kernel.lintText(text, {
    ext: ".md",
    plugins: [{ pluginId: "markdown", plugin: markdown.default }],
    rules: [
      { ruleId: "words", rule: prh.default, options: { ruleContents: [WORDS], checkEmphasis: true } },
      { ruleId: "sentence", rule: sentenceLength.default, options: { max: MAX_SENTENCE } },
    ],
  });
  return messages.map(({ line, message }) => `${line}: ${message.replace(/\s+/g, " ")}`);
}

/** The comments of a file, each on its line; `#` begins one where `//` does not. */
export function commentsOf(source: string): string {
  const lines = source.split("\n").map((line) => {
    const [, comment = ""] =
      /(?:^\s*(?:#|\*|\/\*+|\/\/)|(?<=\s)(?:\/\/|#|\/\*+)) (.*?)(?:\*\/)?$/.exec(line) ?? [];
    return comment;
  });
  return lines.join("\n");
}

/** The texts of a TypeScript file that people read when it runs, each on its line. */
export function stringsOf(source: string): string {
  return textsOf(source, (add) => {
    const addText = (text: string, start: number) => {
      // A text of several lines is SQL.
      if (text.split(" ").length >= MIN_WORDS && !text.includes("\n")) add(text, start);
    };
    return {
      Literal: ({ value, start }) => typeof value === "string" && addText(value, start),
      TemplateElement: ({ value, start }) => addText(value.cooked ?? "", start),
    };
  });
}

/** The titles of a file's tests, each on its line; a placeholder counts as one word. */
export function titlesOf(source: string): string {
  return textsOf(source, (add) => ({
    CallExpression({ callee, arguments: [title] }) {
      if (callee.type !== "Identifier" || !TITLED.has(callee.name)) return;
      if (title?.type === "Literal") add(`${title.value}`, title.start);
      if (title?.type === "TemplateLiteral")
        add(title.quasis.map(({ value }) => value.cooked).join("X"), title.start);
    },
  }));
}

/** The texts that a visitor of the code adds, each on the line on which it begins. */
function textsOf(
  source: string,
  visitorOf: (add: (text: string, start: number) => void) => VisitorObject,
): string {
  const lines = source.split("\n").map(() => "");
  const visitor = new Visitor(
    visitorOf((text, start) => {
      const line = source.slice(0, start).split("\n").length - 1;
      lines[line] = `${lines[line]} ${text}.`;
    }),
  );
  visitor.visit(parseSync("a.ts", source).program);
  return lines.join("\n");
}
