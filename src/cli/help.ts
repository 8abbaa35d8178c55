/** What `--help` prints: the commands, and every setting with its default, from the one table. */
import { flagOf, SETTINGS } from "./config.ts";

const USAGE = `Usage: livechat-relay [serve | demo] [flags]

  serve   run the relay (the default)
  demo    run it against a simulated upstream, in memory, without internet
          --recording PATH   play recorded chat instead of a generated one
          --rate N           generated messages a second (default 5)

Every setting is an environment variable; the flag of the same name wins over it.

`;

export function help(): string {
  const rows = Object.entries(SETTINGS).map(([name, { default: value, meaning }]) => {
    return `  ${name}, --${flagOf(name)} (default ${value || "none"})\n      ${meaning.replaceAll("`", "")}\n`;
  });
  return USAGE + rows.join("");
}
