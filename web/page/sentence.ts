/** The service's messages as the pages show them. */
import { withoutHeaders } from "../chat/page-token.ts";
import { TOKEN } from "./own-service.ts";

/** What the service says to programs, and the same to people. */
const WORDS: readonly [RegExp, string][] = [
  [/; \/v1\/stream without .*(?=\.)/, ""],
  [/ \(in a query, [^)]*\)/, ""],
  [/request it alone, as channel=…, or send/, "open it alone, or use"],
  [/(?<= does not give the right to this\.) It needs .*/, ""],
  [/(?<![.?])$/, "."],
];

/** The message as a sentence that its reader can act on. */
export function sentence(message: string): string {
  const own = withoutHeaders(message, TOKEN, "enter it in the field Token above");
  return WORDS.reduce((words, [said, written]) => words.replace(said, written), own);
}
