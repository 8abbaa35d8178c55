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

const WORDS_RULE = {
  ruleId: "words",
  rule: prh.default,
  options: { ruleContents: [WORDS], checkEmphasis: true },
};
const SENTENCE_RULE = { ruleId: "sentence", rule: sentenceLength.default, options: { max: MAX_SENTENCE } };

/** What the linter finds in a text, with its line. */
export async function lint(text: string): Promise<string[]> {
  const { condensed, lineOf } = condense(text);
  // A sentence is within a paragraph, which a blank line ends. To find sentences takes as long as all else.
  const isLong = condensed.split(/\n\s*\n/).some(({ length }) => length > MAX_SENTENCE);
  const { messages } = await kernel.lintText(condensed, {
    ext: ".md",
    plugins: [{ pluginId: "markdown", plugin: markdown.default }],
    rules: isLong ? [WORDS_RULE, SENTENCE_RULE] : [WORDS_RULE],
  });
  return messages.map(
    ({ line, message }) => `${lineOf(line)}: ${message.replace(/^Line \d+ /, "").replace(/\s+/g, " ")}`,
  );
}

/** The text with one blank line where it has several, which cost the parser of Markdown as much as words. */
function condense(text: string): { condensed: string; lineOf(line: number): number } {
  const lines = text.split("\n");
  const isBlank = (at: number) => lines[at]?.trim() === "";
  const kept = [...lines.keys()].filter((at) => !(isBlank(at) && isBlank(at - 1)));
  const condensed = kept.map((at) => lines[at]).join("\n");
  return { condensed, lineOf: (line) => (kept[line - 1] ?? Number.NaN) + 1 };
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
